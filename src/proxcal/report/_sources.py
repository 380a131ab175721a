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
from proxcal._validation import Array, Ints, check_ids, check_length
from proxcal.bundle import Predictions

Given = Predictions | str | PathLike[str]
CHANNELS = (1, 3, 4)
_READ = 1 << 20


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
        predictions = given if isinstance(given, Predictions) else Predictions.load(given, prefix=prefix)
        n = len(predictions)
        ids = predictions.ids if ids is None else check_ids(ids, n)
        if isinstance(given, Predictions):
            return cls(predictions, np.arange(n), ids, _check_images(images, n))
        file = open_arrays(Path(given))
        if images is None and f"{prefix}images" in file.names:
            images = file.read(f"{prefix}images")
        images = _check_images(images, n)
        return cls(predictions, np.arange(n), ids, images, fspath(given), _sha256(Path(given)))

    def take(self, rows: Ints) -> Self:
        """The samples at `rows`; ids and images stay whole, to be looked up by the rows kept."""
        return type(self)(self.predictions.take(rows), self.rows[rows], self.ids, self.images, self.path, self.sha256)


def _sha256(path: Path) -> str:
    """Of a file; of a folder, of its .npy files one behind the other, by name."""
    digest = hashlib.sha256()
    for file in sorted(path.glob("*.npy")) if path.is_dir() else [path]:
        with file.open("rb") as opened:
            while some := opened.read(_READ):
                digest.update(some)
    return digest.hexdigest()


def _check_images(images: ArrayLike | None, n: int) -> Array | None:
    if images is None:
        return None
    array = np.asanyarray(images)
    if not (array.ndim == 3 or (array.ndim == 4 and array.shape[3] in CHANNELS)) or 0 in array.shape:
        raise ValueError(
            f"images has shape {array.shape}; it needs (n, height, width), or with the channels last (n, height, "
            "width, 3)"
        )
    check_length("images", len(array), n)
    if array.dtype.kind != "f" and array.dtype != np.uint8:
        raise ValueError(f"images has dtype {array.dtype}; it needs uint8, or floats from 0 to 1")
    return array
