"""What one model said on one data set: its scores and, where they are known, the labels, embeddings and names.

Everything later starts here, so here it is validated, once: what a `Predictions` holds needs no second look. Arrays of
a file are mapped, not read, where the format allows (.safetensors, .npz without compression, as `save` writes it, and
.npy in a folder), or else from a temporary file (Parquet, and parts of what is large).
"""

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from proxcal._arrays import open_arrays, write_arrays
from proxcal._validation import (
    Array,
    Input,
    Ints,
    check_features,
    check_ids,
    check_labels,
    check_number,
    check_scores,
    take_rows,
)

NAMES = ("logits", "probs", "labels", "features", "ids")


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Predictions:
    """Scores of n samples over C classes, `logits` or `probs` (n, C); `labels` (n,), `features` (n, d) and `ids` (n,),
    by which a reader tells samples apart, if known."""

    logits: Array | None
    probs: Array | None
    labels: Ints | None
    features: Array | None
    ids: Array | None

    def __init__(
        self,
        *,
        logits: ArrayLike | None = None,
        probs: ArrayLike | None = None,
        labels: ArrayLike | None = None,
        features: ArrayLike | None = None,
        ids: ArrayLike | None = None,
    ) -> None:
        if (logits is None) == (probs is None):
            raise ValueError(f"logits and probs: {'neither' if logits is None else 'both'} came; give exactly one")
        self._hold(
            logits=None if logits is None else check_scores(logits, "logits"),
            probs=None if probs is None else check_scores(probs, "probs"),
        )
        n, n_classes = self.scores.shape
        self._hold(
            labels=None if labels is None else check_labels(labels, n, n_classes),
            features=None if features is None else check_features(features, n_samples=n),
            ids=None if ids is None else check_ids(ids, n),
        )

    @classmethod
    def load(cls, path: str | PathLike[str], *, prefix: str = "") -> Self:
        """`logits` or `probs`, `labels`, `features` and `ids` of a file (.npz, .safetensors, or Parquet with the
        `parquet` extra) or of a folder (NAME.npy each), the names there preceded by `prefix`."""
        file = open_arrays(Path(path))
        scores = [name for name in ("logits", "probs") if prefix + name in file.names]
        if len(scores) != 1:
            found = "both" if scores else f"only {', '.join(file.names) or 'nothing'}"
            raise ValueError(f"{path} has {found}; it needs exactly one of {prefix}logits and {prefix}probs")
        arrays = {name: file.read(prefix + name) for name in NAMES if prefix + name in file.names}
        try:
            return cls(**arrays)
        except ValueError as error:
            raise ValueError(f"{path}: {prefix}{error}") from None

    def save(self, path: str | PathLike[str], overwrite: bool = False) -> None:
        """To .npz (not compressed, so that it can be mapped), .safetensors or .parquet, by the suffix."""
        write_arrays(path, self._arrays(), overwrite)

    def split(self, fraction: float = 0.5, random_state: int | np.random.Generator | None = 0) -> tuple[Self, Self]:
        """Two random parts, the first with `fraction` of the samples, each in the order of the whole."""
        first, second = split_rows(len(self), fraction, random_state)
        return self.take(first), self.take(second)

    def take(self, indices: ArrayLike) -> Self:
        """The samples at `indices` (whole numbers, or a mask of all samples), in that order."""
        try:
            rows = np.arange(len(self))[np.asarray(indices)]
        except IndexError as error:
            raise ValueError(f"indices do not fit {len(self)} samples: {error}") from None
        if rows.ndim != 1 or not len(rows):
            raise ValueError(
                f"indices choose an array of shape {rows.shape}; one sample or more are needed, shape (m,)"
            )
        part = object.__new__(type(self))
        part._hold(
            **{name: None if (array := getattr(self, name)) is None else take_rows(array, rows) for name in NAMES}
        )
        return part

    @property
    def input(self) -> Input:
        return "probs" if self.logits is None else "logits"

    @property
    def scores(self) -> Array:
        """The logits or the probs, whichever there are."""
        scores: Array = getattr(self, self.input)
        return scores

    @property
    def n_classes(self) -> int:
        return int(self.scores.shape[1])

    def __len__(self) -> int:
        return len(self.scores)

    def __repr__(self) -> str:
        return f"Predictions({', '.join(f'{name} {a.shape} {a.dtype}' for name, a in self._arrays().items())})"

    def _hold(self, **arrays: Array | None) -> None:
        for name, array in arrays.items():
            object.__setattr__(self, name, array)

    def _arrays(self) -> dict[str, Array]:
        return {name: array for name in NAMES if (array := getattr(self, name)) is not None}


def split_rows(n: int, fraction: float, random_state: int | np.random.Generator | None) -> tuple[Ints, Ints]:
    """Two random parts of n rows, the first with `fraction` of them, each in ascending order."""
    check_number("fraction", fraction, above=0, at_most=1)
    n_first = round(fraction * n)
    if not 0 < n_first < n:
        raise ValueError(f"fraction {fraction:g} of {n} samples leaves one part empty")
    order = np.random.default_rng(random_state).permutation(n)
    return np.sort(order[:n_first]), np.sort(order[n_first:])
