"""Makes src/proxcal/datasets/fashion_mnist_lt.npz: what a real network with rare classes says on real held-out images.

A network of two convolutions learns from a long tail of Fashion-MNIST's training set: the first class keeps 2 000
images, each next one 50^(1/9) times fewer, the last 40; 5 595 in all. It trains for 20 epochs with everything at its
usual value. Nothing was tuned, neither for accuracy nor against it: these are the first settings that were run. What is
stored comes from the 10 000 test images, a thousand of each class: logits, the 64 activations before them and labels in
float16 and uint8, and beside them the number of training images of each class. None of it is chosen or left out.

To make it again (the images come from Debian's package; torch is needed nowhere else), in half a minute on one core:

    apt-get update && apt-get install -y dataset-fashion-mnist
    python3 -m venv /tmp/torch && /tmp/torch/bin/pip install torch==2.13.0 numpy
    /tmp/torch/bin/python tools/make_demo_data.py

Run twice on one machine, with the CPU build of torch 2.13.0 and NumPy 2.4.6, it wrote the same bytes. Another processor
or another torch may round differently, and after 20 epochs that shows in the digits; accuracy was 0.8201.
"""

import argparse
import gzip
from pathlib import Path

import numpy as np
import torch
from torch import nn

IMAGES = Path("/usr/share/datasets/fashion-mnist")
OUTPUT = Path(__file__).parent.parent / "src/proxcal/datasets/fashion_mnist_lt.npz"
N_CLASSES = 10
N_FIRST_CLASS = 2000
IMBALANCE = 50
EPOCHS = 20
BATCH = 64
SEED = 0


def read_idx(path: Path) -> np.ndarray:
    """An idx file of bytes: two zeros, the type, the number of dimensions, each of them as a big-endian int32, data."""
    content = gzip.decompress(path.read_bytes())
    n_dimensions = content[3]
    shape = np.frombuffer(content, ">i4", n_dimensions, offset=4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * n_dimensions).reshape(shape)


def read_set(folder: Path, name: str) -> tuple[torch.Tensor, np.ndarray]:
    """Images (n, 1, 28, 28) in [0, 1] and labels (n,)."""
    images = read_idx(folder / f"{name}-images-idx3-ubyte.gz")
    labels = read_idx(folder / f"{name}-labels-idx1-ubyte.gz")
    return torch.from_numpy(images[:, None] / np.float32(255)), labels.astype(np.int64)


def long_tail(labels: np.ndarray) -> np.ndarray:
    """Which images the network may see: N_FIRST_CLASS · IMBALANCE^(-c / 9) of class c, drawn at random."""
    rng = np.random.default_rng(SEED)
    sizes = (N_FIRST_CLASS * IMBALANCE ** (-np.arange(N_CLASSES) / (N_CLASSES - 1)) + 1e-9).astype(int)
    chosen = [rng.choice(np.flatnonzero(labels == c), size, replace=False) for c, size in enumerate(sizes)]
    return np.concatenate(chosen)


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(32 * 7 * 7, 64), nn.ReLU(),
        )  # fmt: skip
        self.classify = nn.Linear(64, N_CLASSES)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.classify(self.features(images))


def train(images: torch.Tensor, labels: torch.Tensor) -> Network:
    network = Network()
    optimizer = torch.optim.Adam(network.parameters())
    for epoch in range(EPOCHS):
        total = 0.0
        for batch in torch.randperm(len(images)).split(BATCH):
            loss = nn.functional.cross_entropy(network(images[batch]), labels[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(batch)
        print(f"epoch {epoch + 1:2d}: training loss {total / len(images):.4f}")
    return network


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=Path, default=IMAGES, help="folder of the four idx files")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    arguments = parser.parse_args()

    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    images, labels = read_set(arguments.images, "train")
    chosen = long_tail(labels)
    network = train(images[chosen], torch.from_numpy(labels[chosen]))

    test_images, test_labels = read_set(arguments.images, "t10k")
    with torch.no_grad():
        features = network.features(test_images)
        logits = network.classify(features)
    print(f"accuracy on the test images: {(logits.argmax(1).numpy() == test_labels).mean():.4f}")
    np.savez_compressed(
        arguments.output,
        logits=logits.numpy().astype(np.float16),
        features=features.numpy().astype(np.float16),
        labels=test_labels.astype(np.uint8),
        train_counts=np.bincount(labels[chosen], minlength=N_CLASSES),
    )


if __name__ == "__main__":
    main()
