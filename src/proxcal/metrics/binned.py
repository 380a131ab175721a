"""The binned calibration errors: how far accuracy is from confidence, bin by bin, in one number.

    ECE, ACE, PIECE = Σ_b n_b/n |acc_b - conf_b|        MCE = max_b |acc_b - conf_b|

acc_b and conf_b are the means of `correct` and of `confidence` over the n_b samples of bin b. ECE and MCE take bins of
equal width, ACE bins of equal count; PIECE splits each confidence bin by proximity too, so that overconfidence where
data is sparse cannot cancel underconfidence where it is dense: it is never below the error over its confidence bins.
"""

from dataclasses import dataclass, field, replace
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
    error = _over_equal_width(_count(n_bins), *check_samples(confidence=confidence, correct=correct))
    return error if return_result else error.value


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
    error = _over_equal_count(_count(n_bins), *check_samples(confidence=confidence, correct=correct))
    return error if return_result else error.value


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
    error = _over_equal_width(_count(n_bins), *check_samples(confidence=confidence, correct=correct))
    gap = error.gap * error.weight if weighted else error.gap
    error = replace(error, value=float(gap.max()))
    return error if return_result else error.value


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
    error = over_bins(_count(n_bins), _count(n_proximity_bins, "n_proximity_bins"), *samples)
    return error if return_result else error.value


def _count(value: int, name: str = "n_bins") -> int:
    return check_integer(name, value, at_least=1)


def _over_equal_width(n_bins: int, confidence: Floats, correct: Bools) -> BinnedError:
    bins = equal_width(confidence, n_bins)
    return _mean_error(tabulate(bins, n_bins, confidence, correct), bins, equal_width_edges(n_bins))


def _over_equal_count(n_bins: int, confidence: Floats, correct: Bools) -> BinnedError:
    bins = equal_count(confidence, n_bins)
    edges = observed_edges(confidence, bins, n_bins)[0]
    return _mean_error(tabulate(bins, n_bins, confidence, correct), bins, edges)


def _over_nested(n_bins: int, n_inner: int, confidence: Floats, correct: Bools, proximity: Floats) -> BinnedError:
    bins = nested(confidence, proximity, n_bins, n_inner)
    edges = observed_edges(confidence, bins // n_inner, n_bins)[0]
    proximity_edges = observed_edges(proximity, bins, n_inner, n_rows=n_bins)
    return _mean_error(tabulate(bins, (n_bins, n_inner), confidence, correct), bins, edges, proximity_edges)


def _over_grid(n_bins: int, n_inner: int, confidence: Floats, correct: Bools, proximity: Floats) -> BinnedError:
    bins = grid(confidence, proximity, n_bins, n_inner)
    proximity_edges = np.repeat(observed_edges(proximity, bins % n_inner, n_inner), n_bins, axis=0)
    table = tabulate(bins, (n_bins, n_inner), confidence, correct)
    return _mean_error(table, bins, equal_width_edges(n_bins), proximity_edges)


def _mean_error(table: BinTable, bins: Ints, edges: Floats, proximity_edges: Floats | None = None) -> BinnedError:
    value = float(np.sum(table.count * table.gap) / table.count.sum())
    return BinnedError(**vars(table), value=value, edges=edges, bins=bins, proximity_edges=proximity_edges)
