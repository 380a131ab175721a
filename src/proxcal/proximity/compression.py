"""References in less memory: fewer bytes a number, fewer columns (`_reduction.py`), fewer rows (`coreset.py`).

float16 keeps eleven bits of a number. Rows of unit length are measured again after rounding, others are divided by a
power of two that leaves room for longer ones to come.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from proxcal._validation import Array, Ints, check_choice, check_integer, row_blocks
from proxcal.proximity._reduction import Reduction
from proxcal.proximity.coreset import CORESETS, Coreset, choose
from proxcal.proximity.references import References, Searcher, float16_factor, largest_of, scale_of, scaled

StoredAs = Literal["float16", "float32"]
_STORED_AS: tuple[StoredAs | None, ...] = ("float16", "float32", None)
_SAMPLE = 512  # references whose neighbours show the cosine of what components leave out


@dataclass(frozen=True)
class Compression:
    """What to keep: see `Proximity.compress`."""

    dtype: StoredAs | None
    n_components: int | None
    n_references: int | None
    coreset: Coreset
    random_state: int

    def check(self, n: int, d: int, n_neighbors: int) -> None:
        check_choice("dtype", self.dtype, _STORED_AS)
        check_choice("coreset", self.coreset, CORESETS)
        if self.n_components is not None and check_integer("n_components", self.n_components, at_least=1) > d:
            raise ValueError(f"n_components is {self.n_components}; the references have {d} columns")
        if self.n_references is None:
            return
        if check_integer("n_references", self.n_references, at_least=n_neighbors + 1) > n:
            raise ValueError(f"n_references is {self.n_references}; there are {n} to choose from")

    def applied(
        self, references: References, searcher: Searcher, n_neighbors: int, *, unit: bool
    ) -> tuple[References, Ints, Reduction | None]:
        """The references in their new form, which of them are kept, and the reduction where there is one."""
        n = len(references.rows)
        kept, reduction = np.arange(n), None
        if self.n_components is not None:
            sample = np.arange(0, n, -(-n // _SAMPLE))
            near = searcher.search(references.rows[sample], references.scale[sample], n_neighbors, sample)
            reduction = Reduction(n_components=self.n_components).fit(references, sample, near)
        if self.n_references is not None:
            kept = choose(references, self.n_references, self.coreset, self.random_state)
        dtype = self.dtype or ("float32" if reduction else references.rows.dtype)
        return _stored(references, kept, reduction, np.dtype(dtype), unit=unit), kept, reduction


def _stored(
    references: References, kept: Ints, reduction: Reduction | None, dtype: np.dtype[Any], *, unit: bool
) -> References:
    if reduction is None and dtype == references.rows.dtype:
        return References.of(references.rows[kept], unit=unit, factor=references.factor)
    transformed = scaled if reduction is None else reduction.references
    unit = unit and reduction is None
    factor = float16_factor(_largest(references, reduction)) if dtype == np.float16 and not unit else 1.0
    width = references.rows.shape[1] if reduction is None else reduction.n_columns
    rows = np.empty((len(kept), width), dtype)
    for block in row_blocks(len(kept), references.rows.shape[1]):
        rows[block] = transformed(references.rows[kept[block]], references.scale[kept[block]]) / factor
    return References.of(rows, unit=unit, factor=factor)


def _largest(references: References, reduction: Reduction | None) -> float:
    """A bound of what is to be stored: no component is longer than the row, moved by the mean."""
    if reduction is not None:
        return references.longest
    return references.factor * largest_of(references.rows)


def with_further(references: References, features: Array, reduction: Reduction | None, *, unit: bool) -> References:
    """Compressed references and, behind them in the same form, further ones."""
    further: Array = features
    if reduction is not None:
        further, unit = reduction.references(features, scale_of(features, unit=unit)), False
    elif unit:
        further = scaled(features, scale_of(features, unit=True))
    factor = 1.0 if unit else references.factor
    with np.errstate(over="ignore"):
        rows = (further / factor).astype(references.rows.dtype)
    if not np.isfinite(rows).all():
        raise ValueError(
            f"features are too long for references kept in {rows.dtype}; compress the whole set with dtype='float32'"
        )
    return References.of(np.concatenate([references.rows, rows]), unit=unit, factor=factor)
