"""The binned calibration errors: how far accuracy is from confidence, bin by bin, in one number.

    ECE, ACE, PIECE = Σ_b n_b/n |acc_b - conf_b|        MCE = max_b |acc_b - conf_b|

acc_b and conf_b are the means of `correct` and of `confidence` over the n_b samples of bin b. ECE and MCE take bins of
equal width, ACE bins of equal count; PIECE splits each confidence bin by proximity too, so that overconfidence where
data is sparse cannot cancel underconfidence where it is dense: it is never below the error over its confidence bins.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from proxcal._validation import Bools, Floats, Ints, check_choice, check_integer, check_samples
from proxcal.metrics.binning import (
    BinTable,
    equal_count,
    equal_width,
    equal_width_edges,
    grid,
    nested,
    observed_edges,
    tabulate,
)

Scheme = Literal["nested", "grid"]
SCHEMES: tuple[Scheme, ...] = ("nested", "grid")


@dataclass(frozen=True, eq=False, kw_only=True)
class BinnedError(BinTable):
    """A calibration error with the bins it comes from.

    `edges` are those of the confidence bins, one more than there are bins; for bins by rank, the lowest confidence of
    each, then the highest of all. `bins` is the bin of each sample. For PIECE count, confidence and accuracy have a row
    for each confidence bin and a column for each proximity bin, `bins` counts them row by row, and `proximity_edges`
    has the edges of each row.
    """

    value: float
    edges: Floats
    bins: Ints = field(repr=False)
    proximity_edges: Floats | None = None


@overload
def ece(
    confidence: ArrayLike, correct: ArrayLike, n_bins: int = 15, *, return_result: Literal[False] = False
) -> float: ...
@overload
def ece(
    confidence: ArrayLike, correct: ArrayLike, n_bins: int = 15, *, return_result: Literal[True]
) -> BinnedError: ...
def ece(
    confidence: ArrayLike, correct: ArrayLike, n_bins: int = 15, *, return_result: bool = False
) -> float | BinnedError:
    """Expected calibration error: Σ_b n_b/n |acc_b - conf_b| over bins of equal width, the last closed at 1."""
    binned = _over_equal_width(_count(n_bins), *check_samples(confidence=confidence, correct=correct))
    return binned.error(binned.mean_gap, return_result)


@overload
def ace(
    confidence: ArrayLike, correct: ArrayLike, n_bins: int = 15, *, return_result: Literal[False] = False
) -> float: ...
@overload
def ace(
    confidence: ArrayLike, correct: ArrayLike, n_bins: int = 15, *, return_result: Literal[True]
) -> BinnedError: ...
def ace(
    confidence: ArrayLike, correct: ArrayLike, n_bins: int = 15, *, return_result: bool = False
) -> float | BinnedError:
    """Adaptive calibration error: Σ_b n_b/n |acc_b - conf_b| over bins of equal count."""
    binned = _over_equal_count(_count(n_bins), *check_samples(confidence=confidence, correct=correct))
    return binned.error(binned.mean_gap, return_result)


@overload
def mce(
    confidence: ArrayLike,
    correct: ArrayLike,
    n_bins: int = 15,
    *,
    weighted: bool = False,
    return_result: Literal[False] = False,
) -> float: ...
@overload
def mce(
    confidence: ArrayLike, correct: ArrayLike, n_bins: int = 15, *, weighted: bool = False, return_result: Literal[True]
) -> BinnedError: ...
def mce(
    confidence: ArrayLike,
    correct: ArrayLike,
    n_bins: int = 15,
    *,
    weighted: bool = False,
    return_result: bool = False,
) -> float | BinnedError:
    """Maximum calibration error: max_b |acc_b - conf_b| over ECE's bins.

    `weighted=True` gives max_b n_b/n |acc_b - conf_b|, which is what the paper's tables hold.
    """
    binned = _over_equal_width(_count(n_bins), *check_samples(confidence=confidence, correct=correct))
    gap = binned.table.gap * binned.table.weight if weighted else binned.table.gap
    return binned.error(float(gap.max()), return_result)


@overload
def piece(
    confidence: ArrayLike,
    correct: ArrayLike,
    proximity: ArrayLike,
    n_bins: int = 15,
    n_proximity_bins: int = 10,
    *,
    scheme: Scheme = "nested",
    return_result: Literal[False] = False,
) -> float: ...
@overload
def piece(
    confidence: ArrayLike,
    correct: ArrayLike,
    proximity: ArrayLike,
    n_bins: int = 15,
    n_proximity_bins: int = 10,
    *,
    scheme: Scheme = "nested",
    return_result: Literal[True],
) -> BinnedError: ...
def piece(
    confidence: ArrayLike,
    correct: ArrayLike,
    proximity: ArrayLike,
    n_bins: int = 15,
    n_proximity_bins: int = 10,
    *,
    scheme: Scheme = "nested",
    return_result: bool = False,
) -> float | BinnedError:
    """Proximity-informed expected calibration error: Σ_b n_b/n |acc_b - conf_b| over (confidence, proximity) bins.

    `scheme="nested"`: equal-count bins by confidence (ACE's), each split into equal-count bins by proximity.
    `scheme="grid"`: equal-width bins by confidence (ECE's) crossed with equal-count bins by proximity over all samples.
    Only the ranks of `proximity` matter, so its logarithm serves as well, and never underflows.
    """
    over_bins = _over_nested if check_choice("scheme", scheme, SCHEMES) == "nested" else _over_grid
    samples = check_samples(confidence=confidence, correct=correct, proximity=proximity)
    binned = over_bins(_count(n_bins), _count(n_proximity_bins, "n_proximity_bins"), *samples)
    return binned.error(binned.mean_gap, return_result)


def _count(value: int, name: str = "n_bins") -> int:
    return check_integer(name, value, at_least=1)


@dataclass(frozen=True, eq=False)
class _Binned:
    """Samples in their bins. Edges take longer to find than the error, and are found where they are asked for."""

    table: BinTable
    bins: Ints
    edges: Callable[[], Floats]
    proximity_edges: Callable[[], Floats] | None = None

    @property
    def mean_gap(self) -> float:
        return float(np.sum(self.table.count * self.table.gap) / self.table.count.sum())

    def error(self, value: float, return_result: bool) -> float | BinnedError:
        if not return_result:
            return value
        proximity_edges = None if self.proximity_edges is None else self.proximity_edges()
        return BinnedError(
            **vars(self.table), value=value, edges=self.edges(), bins=self.bins, proximity_edges=proximity_edges
        )


def _over_equal_width(n_bins: int, confidence: Floats, correct: Bools) -> _Binned:
    bins = equal_width(confidence, n_bins)
    return _Binned(tabulate(bins, n_bins, confidence, correct), bins, lambda: equal_width_edges(n_bins))


def _over_equal_count(n_bins: int, confidence: Floats, correct: Bools) -> _Binned:
    bins = equal_count(confidence, n_bins)
    table = tabulate(bins, n_bins, confidence, correct)
    return _Binned(table, bins, lambda: observed_edges(confidence, bins, n_bins)[0])


def _over_nested(n_bins: int, n_inner: int, confidence: Floats, correct: Bools, proximity: Floats) -> _Binned:
    bins = nested(confidence, proximity, n_bins, n_inner)
    return _Binned(
        tabulate(bins, (n_bins, n_inner), confidence, correct),
        bins,
        lambda: observed_edges(confidence, bins // n_inner, n_bins)[0],
        lambda: observed_edges(proximity, bins, n_inner, n_rows=n_bins),
    )


def _over_grid(n_bins: int, n_inner: int, confidence: Floats, correct: Bools, proximity: Floats) -> _Binned:
    bins = grid(confidence, proximity, n_bins, n_inner)
    return _Binned(
        tabulate(bins, (n_bins, n_inner), confidence, correct),
        bins,
        lambda: equal_width_edges(n_bins),
        lambda: np.repeat(observed_edges(proximity, bins % n_inner, n_inner), n_bins, axis=0),
    )
