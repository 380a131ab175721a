"""Fewer columns of features: their principal components, learned from one file and used for all that go with it.

Samples can be compared only where their features were projected alike. So the file that learned a projection keeps it
(`pca_components` (D, d) and `pca_mean` (d,)), and another file takes it from there.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

from proxcal._arrays import open_arrays
from proxcal._validation import Array, Floats, row_blocks

COMPONENTS, MEAN = "pca_components", "pca_mean"


def number_or_file(text: str | None) -> int | Path | None:
    """What --pca was given."""
    if text is None:
        return None
    return int(text) if text.isdecimal() else Path(text)


def check_components(n_components: int, n_samples: int, n_features: int) -> None:
    if n_components > min(n_samples, n_features):
        raise ValueError(f"pca is {n_components}; with {n_samples} samples of {n_features} features it needs fewer")


class Projection(NamedTuple):
    components: Floats
    mean: Floats

    @classmethod
    def load(cls, path: Path) -> Self:
        file = open_arrays(path)
        if not {COMPONENTS, MEAN} <= set(file.names):
            raise ValueError(f"{path} keeps no projection; --pca needs a number, or a file that --pca NUMBER made")
        return cls(*(file.read(name).astype(np.float64) for name in (COMPONENTS, MEAN)))

    @classmethod
    def fit(cls, parts: Callable[[], Iterable[Array]], n_components: int) -> Self:
        """The eigenvectors of the covariance with the largest eigenvalues, each with its largest entry positive."""
        n = sum(len(part) for part in parts())
        mean = np.sum([part.sum(axis=0, dtype=np.float64) for part in parts()], axis=0) / n
        check_components(n_components, n, len(mean))
        scatter = np.zeros((len(mean), len(mean)))
        for part in parts():
            for block in row_blocks(*part.shape):
                centred = part[block] - mean
                scatter += centred.T @ centred
        components = np.linalg.eigh(scatter)[1][:, : -n_components - 1 : -1].T
        largest = np.abs(components).argmax(axis=1)
        components *= np.sign(components[np.arange(n_components), largest])[:, None]
        return cls(*(array.astype(np.float32).astype(np.float64) for array in (components, mean)))  # as it is kept

    def apply(self, features: Array) -> Array:
        """Projected rows, in the float type they came in."""
        if features.shape[1] != len(self.mean):
            raise ValueError(
                f"features has {features.shape[1]} columns; the projection of --pca needs {len(self.mean)}"
            )
        projected = np.empty((len(features), len(self.components)), features.dtype)
        for block in row_blocks(*features.shape):
            projected[block] = (features[block] - self.mean) @ self.components.T
        return projected

    @property
    def arrays(self) -> dict[str, Array]:
        return {COMPONENTS: self.components.astype(np.float32), MEAN: self.mean.astype(np.float32)}
