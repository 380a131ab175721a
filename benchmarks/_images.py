"""Very many real rows: Fashion-MNIST's images, each moved by up to two pixels either way, 25 times 60 000.

    apt-get install dataset-fashion-mnist

Whole they have 784 columns, fewer as principal components (of a tenth of them, their scores unscaled). Queries are test
images as they are; those from elsewhere, which have fewer near references, are test images upside down.
"""

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path("/usr/share/datasets/fashion-mnist")
PIXELS, MOST = 784, 1_500_000
_MOVES = [(x, y) for x in range(-2, 3) for y in range(-2, 3)]


class Images:
    """Rows of `d` columns."""

    def __init__(self, d: int) -> None:
        self._train, self._test = _read("train"), _read("t10k")
        sample = self._train[::10].reshape(-1, PIXELS).astype(np.float32)
        self._mean = sample.mean(axis=0)
        self._axes = np.linalg.svd(sample - self._mean, full_matrices=False)[2][:d].T

    def references(self, n: int) -> Any:
        return np.concatenate(list(self.blocks(n)))

    def blocks(self, n: int) -> Iterator[Any]:
        """The first n of all, a move at a time."""
        if n > MOST:
            raise ValueError(f"{n} images are asked for; there are {MOST}")
        moves = [_MOVES[i] for i in np.random.default_rng(0).permutation(len(_MOVES))]
        for i, move in enumerate(moves[: -(-n // len(self._train))]):
            yield self._rows(np.roll(self._train[: n - i * len(self._train)], move, axis=(1, 2)))

    def queries(self, n: int) -> Any:
        return self._rows(self._test[:n])

    def elsewhere(self, n: int) -> Any:
        return self._rows(self._test[-n:, ::-1, ::-1])

    def _rows(self, images: Any) -> Any:
        return (images.reshape(-1, PIXELS).astype(np.float32) - self._mean) @ self._axes


def _read(name: str) -> Any:
    content = gzip.decompress((FOLDER / f"{name}-images-idx3-ubyte.gz").read_bytes())
    return np.frombuffer(content, np.uint8, offset=16).reshape(-1, 28, 28)
