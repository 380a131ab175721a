"""The bundled example: a small network that learned from a long tail of Fashion-MNIST, on the 10 000 test images.

The network saw 2 000 images of its first class and 40 of its last; the test images have a thousand of each, so many lie
where its training data was sparse. `tools/make_demo_data.py` in the repository made it; its licence lies beside it.
"""

from importlib.resources import as_file, files

from proxcal.bundle import Predictions


def load_demo() -> Predictions:
    """Logits (10000, 10), penultimate features (10000, 64) and labels, none of them seen in training."""
    with as_file(files("proxcal.datasets") / "fashion_mnist_lt.npz") as path:
        return Predictions.load(path)
