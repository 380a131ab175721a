"""What an audit is given: predictions and, beside each sample, what a reader may know it by (an id, an image).

A file may hold the arrays `ids` (n,) and `images` (n, height, width[, 1, 3 or 4]) beside the predictions. Its SHA-256
goes into the report, so that a reader can tell whether a file they hold is the one that was audited.
"""

import hashlib
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from proxcal._arrays import open_arrays
from proxcal._validation import Array, Ints, check_length
from proxcal.bundle import Predictions

Given = Predictions | str | PathLike[str]
CHANNELS = (1, 3, 4)


@dataclass(frozen=True, eq=False)
class Source:
    """Predictions, the row of each sample in what was given, and the file they came from if they did."""

    predictions: Predictions
    rows: Ints
    ids: Array | None = None
    images: Array | None = None
    path: str | None = None
    sha256: str | None = None

    @classmethod
    def of(
        cls, given: Given, *, prefix: str = "", ids: ArrayLike | None = None, images: ArrayLike | None = None
    ) -> Self:
        if isinstance(given, Predictions):
            return cls(given, np.arange(len(given)), *_shown(len(given), ids, images))
        predictions = Predictions.load(given, prefix=prefix)
        file = open_arrays(Path(given))
        ids, images = (
            file.read(prefix + name) if array is None and prefix + name in file.names else array
            for name, array in (("ids", ids), ("images", images))
        )
        shown = _shown(len(predictions), ids, images)
        with Path(given).open("rb") as opened:
            digest = hashlib.file_digest(opened, "sha256").hexdigest()
        return cls(predictions, np.arange(len(predictions)), *shown, fspath(given), digest)

    def take(self, rows: Ints) -> Self:
        """The samples at `rows`; ids and images stay whole, to be looked up by the rows kept."""
        return type(self)(self.predictions.take(rows), self.rows[rows], self.ids, self.images, self.path, self.sha256)


def _shown(n: int, ids: ArrayLike | None, images: ArrayLike | None) -> tuple[Array | None, Array | None]:
    ids = None if ids is None else np.asarray(ids)
    images = None if images is None else np.asanyarray(images)
    if ids is not None:
        if ids.ndim != 1 or ids.dtype.kind not in "iuUS":
            raise ValueError(
                f"ids has shape {ids.shape} and dtype {ids.dtype}; it needs a whole number or a text a sample, ({n},)"
            )
        check_length("ids", len(ids), n)
    if images is not None:
        if not (images.ndim == 3 or (images.ndim == 4 and images.shape[3] in CHANNELS)) or 0 in images.shape:
            raise ValueError(
                f"images has shape {images.shape}; it needs (n, height, width), or with the channels last (n, height, "
                "width, 3)"
            )
        check_length("images", len(images), n)
        if images.dtype.kind != "f" and images.dtype != np.uint8:
            raise ValueError(f"images has dtype {images.dtype}; it needs uint8, or floats from 0 to 1")
    return ids, images
