"""What the intervals of calibration errors work on: samples by cell, and the error as a function of the cells' sums.

Cells are the metric's own bins, or for `smooth_ece` cells so fine beside its bandwidth that they do not matter.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from proxcal._validation import Bools, Floats, Ints
from proxcal.metrics.binned import ace, ece, mce, piece
from proxcal.metrics.scores import brier, nll
from proxcal.metrics.smooth import N_CELLS, cell_of, smooth_ece, smoothed, smoothed_error

Metric = Callable[..., Any]
BINNED: tuple[Metric, ...] = (ece, ace, mce, piece)
MEANS: tuple[Metric, ...] = (brier, nll)

LEAST_SHARE = 0.25  # of a cell's own gap that is always believed: some pattern remains when all look alike


@dataclass(frozen=True, eq=False)
class Cells:
    """The cell of each sample; per cell the count and the mean confidence.

    `error` turns sums of (correct - confidence), a cell along the last axis, into the metric; `pattern` is by how much
    each cell seems to be off.
    """

    bins: Ints
    count: Ints
    confidence: Floats
    error: Callable[[Floats], Floats]
    pattern: Floats


def cells_of(metric: Metric, confidence: Floats, correct: Bools, metric_kwargs: dict[str, Any]) -> Cells:
    if metric is smooth_ece:
        return _smooth_cells(confidence, correct)
    if metric not in BINNED:
        known = ", ".join(each.__name__ for each in (*BINNED, smooth_ece, *MEANS))
        raise ValueError(f"metric must be one of {known}; got {getattr(metric, '__name__', repr(metric))}")
    table = metric(confidence, correct, **metric_kwargs, return_result=True)
    count, mean = table.count.ravel(), table.confidence.ravel()
    weighted = metric is not mce or metric_kwargs.get("weighted", False)
    size = np.full(len(count), len(confidence)) if weighted else np.maximum(count, 1)
    overall = np.max if metric is mce else np.sum
    pattern = _shrunken(count, mean, table.accuracy.ravel() - mean)
    return Cells(table.bins, count, mean, lambda sums: np.asarray(overall(np.abs(sums) / size, axis=-1)), pattern)


def _smooth_cells(confidence: Floats, correct: Bools) -> Cells:
    """Cells a quarter of the bandwidth wide or narrower, at most as fine as `smooth_ece` has them."""
    n, sigma = len(confidence), smooth_ece(confidence, correct)
    n_cells = min(N_CELLS, 1 << int(np.ceil(np.log2(4 / max(sigma, 1e-9)))))
    bins = cell_of(confidence, n_cells)
    count = np.bincount(bins, minlength=n_cells)
    mean = np.bincount(bins, weights=confidence, minlength=n_cells) / np.maximum(count, 1)
    excess = np.bincount(bins, weights=correct - confidence, minlength=n_cells)
    pattern = smoothed(excess, sigma) / np.maximum(smoothed(count, sigma), 1e-9)
    return Cells(bins, count, mean, lambda sums: smoothed_error(sums / n, sigma), pattern)


def _shrunken(count: Ints, confidence: Floats, gap: Floats) -> Floats:
    """Each cell's gap, moved towards the mean of all by as much as is likely to be noise (empirical Bayes)."""
    weight = count / count.sum()
    noise = confidence * (1 - confidence) / np.maximum(count, 1)
    mean = float(weight @ gap)
    spread = max(float(weight @ ((gap - mean) ** 2 - noise)), 0.0)
    total = spread + noise
    own = np.divide(spread, total, out=np.ones_like(noise), where=total > 0)
    return mean + np.maximum(own, LEAST_SHARE) * (gap - mean)
