"""Is one calibrator better than another on the same samples, or is it chance? Paired, so what both share cancels.

Losses: the difference is a mean of differences; its interval and test are Student's, and this is the sharper question.

Errors: noise adds more to the error of the better calibrator, so what is compared are the errors without it (see
`proxcal.metrics.uncertainty`). Samples are drawn anew, the same for both, and the bins stay: Σ (correct - confidence)
over each bin then moves as a normal vector, whose covariance within and between the two binnings is that of multinomial
draws, about what each calibrator's own error foretells. Each replicate is turned round as the values seen were.
"""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, vstack
from scipy.special import stdtr, stdtrit

from proxcal._validation import Bools, Floats, ProxcalWarning, check_integer, check_number, check_samples
from proxcal.metrics._cells import BINNED, MEANS, Cells, Metric, cells_of
from proxcal.metrics._path import Path, walk

FEW = 10
ROUNDING = 1e-10


@dataclass(frozen=True)
class PairedDifference:
    """What the metric shows `before` and `after`; `difference` is after - before, both without noise (below 0: after is
    better), `low` and `high` its interval, and `p_value` that of no difference, two-sided."""

    before: float
    after: float
    difference: float
    low: float
    high: float
    level: float
    p_value: float


def paired_difference(
    metric: Metric,
    before: ArrayLike,
    after: ArrayLike,
    correct: ArrayLike,
    proximity: ArrayLike | None = None,
    *,
    correct_after: ArrayLike | None = None,
    level: float = 0.95,
    n_resamples: int = 1000,
    random_state: int | np.random.Generator | None = 0,
    **metric_kwargs: Any,
) -> PairedDifference:
    """Compare two confidences of the same samples by ece, ace, mce, piece, brier or nll.

    `correct_after` is for a calibrator that changes predictions; without it both are right on the same samples.
    """
    level = check_number("level", level, above=0, at_most=1 - 1e-4)
    n_resamples = check_integer("n_resamples", n_resamples, at_least=1)
    right_after = correct if correct_after is None else correct_after
    first, right = check_samples(at_least=2, confidence=before, correct=correct)
    second, right_after = check_samples(at_least=len(first), confidence=after, correct=right_after)
    given = metric_kwargs if proximity is None else {**metric_kwargs, "proximity": proximity}
    if metric in MEANS:
        losses, losses_after = (metric(*s, return_result=True).losses for s in ((first, right), (second, right_after)))
        return _of_losses(losses, losses_after, level)
    if metric not in BINNED:
        known = ", ".join(each.__name__ for each in (*BINNED, *MEANS))
        raise ValueError(f"metric must be one of {known}; got {getattr(metric, '__name__', repr(metric))}")
    seed = int(np.random.default_rng(random_state).integers(2**63))
    error, error_after = (
        _error(metric, *samples, given, n_resamples, seed) for samples in ((first, right), (second, right_after))
    )
    _warn_of_small_bins(metric, error)
    return _of_errors(error, error_after, level, n_resamples, seed)


@dataclass(frozen=True, eq=False)
class _Error:
    """One calibrator's error as it is seen, its cells and path, and correct - confidence of each sample, by cell."""

    value: float
    cells: Cells
    path: Path
    residuals: csr_array

    def without_noise(self, values: Floats | float) -> Floats:
        return self.path.least_truth_of(values, 0)


def _error(
    metric: Metric, confidence: Floats, correct: Bools, metric_kwargs: dict[str, Any], n_resamples: int, seed: int
) -> _Error:
    cells, n = cells_of(metric, confidence, correct, metric_kwargs), len(confidence)
    residuals = csr_array((correct - confidence, (cells.bins, np.arange(n))), shape=(len(cells.count), n))
    value = float(cells.error(residuals.sum(axis=1)))
    return _Error(value, cells, walk(cells, value, (0.5,), n_resamples, seed), residuals)


def _warn_of_small_bins(metric: Metric, error: _Error) -> None:
    n, n_cells = error.residuals.shape[1], len(error.cells.count)
    if n < FEW * n_cells:
        warnings.warn(
            f"{metric.__name__} has {n_cells} bins for {n} samples, fewer than {FEW} a bin: noise hides differences "
            "there; compare brier or nll",
            ProxcalWarning,
            stacklevel=3,
        )


def _of_errors(before: _Error, after: _Error, level: float, n_resamples: int, seed: int) -> PairedDifference:
    centre, centre_after = (float(e.without_noise(e.value)) for e in (before, after))
    noise, noise_after = _noise(before.residuals, after.residuals, n_resamples, seed)
    drawn = _redrawn(after, centre_after, noise_after) - _redrawn(before, centre, noise)
    difference, tail = centre_after - centre, (1 - level) / 2
    low, high = np.quantile(drawn, (tail, 1 - tail))
    beyond = min(np.sum(drawn <= ROUNDING), np.sum(drawn >= -ROUNDING))
    p_value = min(1.0, 2 * float(1 + beyond) / (1 + n_resamples))
    return PairedDifference(
        before.value, after.value, difference, min(float(low), difference), max(float(high), difference), level, p_value
    )


def _redrawn(error: _Error, centre: float, noise: Floats) -> Floats:
    return error.without_noise(error.cells.error(error.path.excess_of(centre) + noise))


def _noise(before: csr_array, after: csr_array, n_resamples: int, seed: int) -> tuple[Floats, Floats]:
    """How drawing samples anew moves the cells' sums of both, a row a replicate."""
    residuals = vstack([before, after])
    sums = residuals.sum(axis=1)
    covariance = (residuals @ residuals.T).toarray() - np.outer(sums, sums) / residuals.shape[1]
    variance, direction = np.linalg.eigh(covariance)
    variance[variance < ROUNDING * variance[-1]] = 0
    normal = np.random.default_rng(seed).standard_normal((n_resamples, len(sums)))
    noise = normal * np.sqrt(variance) @ direction.T
    return noise[:, : before.shape[0]], noise[:, before.shape[0] :]


def _of_losses(before: Floats, after: Floats, level: float) -> PairedDifference:
    differences = after - before
    n, mean = len(differences), float(differences.mean())
    error = float(differences.std(ddof=1) / np.sqrt(n))
    half = -float(stdtrit(n - 1, (1 - level) / 2)) * error
    p_value = 2 * float(stdtr(n - 1, -abs(mean) / error)) if error > 0 else float(mean == 0)
    return PairedDifference(float(before.mean()), float(after.mean()), mean, mean - half, mean + half, level, p_value)
