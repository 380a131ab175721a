"""How sure a metric is: an interval for what it would be with samples without end, and its value without the noise.

A calibration error of n samples is too large by its noise (see `noise_floor`), and resampling adds the noise once more:
the percentile bootstrap's interval lies above the truth and mostly misses it. So errors are turned round instead. Let a
model be off in every cell by t times what was seen there (cells with few samples shrunken towards the mean of all). For
t from 0 (calibrated) upwards, with θ(t) its true error, draw the values that n samples would show. Then

    low, debiased, high = the θ at which the value seen is the draws' 97.5 % quantile, median, 2.5 % quantile

The lower end is 0 where a calibrated model may well show such a value; for the upper end, a value below what calibrated
models show counts as the median of theirs. Bins stay those of the samples as they were, and `smooth_ece` keeps the
bandwidth that the samples chose. Brier score and log loss are means, and their interval is Student's.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from proxcal._validation import Bools, Floats, check_integer, check_number, check_samples
from proxcal.metrics._cells import MEANS, Metric, cells_of
from proxcal.metrics._path import walk
from proxcal.metrics.floors import noise_floor


@dataclass(frozen=True)
class MetricInterval:
    """`value` is what the metric shows, `noise_floor` what it would show on average were the model calibrated;
    `debiased` and the interval from `low` to `high` are about the error itself, and may lie below `value`."""

    value: float
    low: float
    high: float
    level: float
    noise_floor: float
    debiased: float


def confidence_interval(
    metric: Metric,
    confidence: ArrayLike,
    correct: ArrayLike,
    proximity: ArrayLike | None = None,
    *,
    level: float = 0.95,
    n_resamples: int = 1000,
    random_state: int | np.random.Generator | None = 0,
    **metric_kwargs: Any,
) -> MetricInterval:
    """An interval for ece, ace, mce, piece, smooth_ece, brier or nll, with the noise floor and the debiased value.

    `proximity` is for piece; `metric_kwargs` are the metric's own, n_bins say. In `benchmarks/intervals.py`, of 95 %
    intervals COVERAGE held the true error.
    """
    level = check_number("level", level, above=0, at_most=1 - 1e-4)
    n_resamples = check_integer("n_resamples", n_resamples, at_least=1)
    p, right = check_samples(confidence=confidence, correct=correct)
    given = metric_kwargs if proximity is None else {**metric_kwargs, "proximity": proximity}
    if metric in MEANS:
        return _of_mean(metric, p, right, level)
    cells = cells_of(metric, p, right, given)
    value = float(metric(p, right, **given))
    seed = int(np.random.default_rng(random_state).integers(2**63))
    tail = (1 - level) / 2
    path = walk(cells, value, (1 - tail, 0.5, tail), n_resamples, seed)
    median_of_calibrated = float(path.shown[0, 1])
    low, middle = (float(path.least_truth_of(value, quantile)) for quantile in (0, 1))
    high = float(path.most_truth_of(max(value, median_of_calibrated), 2))
    return MetricInterval(value, low, high, level, noise_floor(metric, p, random_state=seed, **given), middle)


def debiased(
    metric: Metric, confidence: ArrayLike, correct: ArrayLike, proximity: ArrayLike | None = None, **settings: Any
) -> float:
    """The metric without what noise adds to it: as likely above the true error as below it.

    Nearer to it than `metric` itself, which is too large, and than `metric - noise_floor`, which is too small for a
    model that is off: noise adds less where gaps are large. `settings` are those of `confidence_interval`.
    """
    return confidence_interval(metric, confidence, correct, proximity, **settings).debiased


def _of_mean(metric: Metric, confidence: Floats, correct: Bools, level: float) -> MetricInterval:
    losses = metric(confidence, correct, return_result=True).losses
    value, n = float(losses.mean()), len(losses)
    if n == 1:
        raise ValueError(f"confidence has 1 sample; the interval of {metric.__name__} needs at least 2")
    half = float(-stdtrit(n - 1, (1 - level) / 2) * losses.std(ddof=1) / np.sqrt(n))
    return MetricInterval(value, max(value - half, 0.0), value + half, level, noise_floor(metric, confidence), value)
