"""Temperature scaling (Guo et al. 2017): one number that makes a network as sure as it is right.

    p = softmax(z / T),    T = argmin of the log loss on the calibration set

With β = 1/T the log loss is convex in β, so there is one optimum whatever the scale of the logits. It is sought in
log β, where that scale is only a shift, by Newton steps kept inside a bracket. With t = β (z − max z), one pass over
the rows gives Σ e, Σ e t and Σ e t² of e = exp(t), which is all that the slope and the curvature need:

    dL/d log β = mean(E[t] − t_label),    d²L/d(log β)² = mean(Var[t] + E[t] − t_label)

Two kinds of calibration set have no optimum. All right: the loss falls for ever as T → 0; the labels are then smoothed
as Platt (1999) did, one part in n + 1 of each going to the runner-up. Labels scored no higher than the average class:
T → ∞; T stops at a bound where the rows are all but uniform and their ranking still shows.
"""

import warnings
from dataclasses import dataclass, replace

import numpy as np

from proxcal._validation import Array, Floats, Input, Ints, ProxcalWarning, row_blocks
from proxcal.base._calibrator import BaseCalibrator, as_logits, softmax

_FLAT = -12.0  # least log(β · scale), where scale is the mean distance of a logit below its row's largest
_LONGEST_STEP = 3.0  # in log β
_LOWEST = -1e290  # stands for masked classes, whose logits are the smallest number there is, in sums
_TOLERANCE = 1e-6  # on log T; the loss is quadratic there, so it is off by ~1e-12
_MAX_STEPS = 100
_WARM_ROWS = 2000  # a first solution on about so many rows starts the passes over all


class TemperatureScaling(BaseCalibrator):
    """softmax(z / T) with T by log loss; for probabilities z is their logarithm. Order-preserving.

    Learns `temperature_`.

    >>> logits = [[4.0, 0.0], [3.0, 0.0], [0.0, 2.0], [0.0, 5.0], [4.0, 0.0]]
    >>> calibrator = TemperatureScaling().fit(logits, [0, 1, 1, 1, 0])
    >>> round(calibrator.temperature_, 2)
    2.34
    """

    preserves_order = True

    def __init__(self, *, input: Input = "logits") -> None:
        self.input = input

    def _fit(self, scores: Array, labels: Ints) -> None:
        self.temperature_ = fit_temperature(scores, labels, self.input)

    def _rows(self, scores: Array) -> Floats:
        return softmax(as_logits(scores, self.input), 1 / self.temperature_)


@dataclass(frozen=True)
class _Rows:
    """The calibration rows, their largest logit, and the means that do not change with β."""

    scores: Array
    input: Input
    top: Floats
    label_mean: float  # mean of z_label − max z
    class_mean: float  # mean over samples and classes of z − max z

    def slope_and_curvature(self, log_beta: float) -> tuple[float, float]:
        """Of the log loss along log β; float32 rows, float64 sums over them."""
        beta, mean, variance = np.exp(log_beta), 0.0, 0.0
        for block in row_blocks(*self.scores.shape):
            t = _below_top(as_logits(self.scores[block], self.input), self.top[block], beta)
            e = np.exp(t)
            total = e.sum(axis=1)
            first = np.einsum("ij,ij->i", e, t) / total
            e *= t
            second = np.einsum("ij,ij->i", e, t) / total
            mean += float(first.sum(dtype=np.float64))
            variance += float((second - first**2).sum(dtype=np.float64))
        slope = mean / len(self.top) - beta * self.label_mean
        return slope, slope + variance / len(self.top)


def fit_temperature(scores: Array, labels: Ints, input: Input) -> float:
    """The T of least log loss, or where there is none the defined T of the module's docstring, with a warning."""
    rows = _prepare(scores, labels, input)
    scale = -rows.class_mean
    if rows.label_mean == 0:
        rows = _smooth(rows)
        if rows.label_mean == 0:
            warnings.warn(
                "every row has a tie for its largest score and the labels are in it: T = 1", ProxcalWarning, 3
            )
            return 1.0
        message = f"every label has its row's largest score: no T is best; labels smoothed by 1/{len(labels) + 1}"
        warnings.warn(message, ProxcalWarning, stacklevel=3)
    floor = _FLAT - np.log(scale)
    at = floor
    if rows.label_mean > rows.class_mean:
        at = _minimize(rows, _first_guess(rows, labels, floor), floor)
    if at < floor + 2 * _TOLERANCE:
        message = f"no finite temperature is best for these labels: T stops at its bound, {np.exp(-at):.3g}"
        warnings.warn(message, ProxcalWarning, stacklevel=3)
    return float(np.exp(-at))


def _prepare(scores: Array, labels: Ints, input: Input) -> _Rows:
    top, label, mean = np.empty((3, len(scores)))
    for block in row_blocks(*scores.shape):
        z = as_logits(scores[block], input)
        top[block] = z.max(axis=1)
        label[block] = z[np.arange(len(z)), labels[block]]
        with np.errstate(over="ignore"):
            mean[block] = z.mean(axis=1, dtype=np.float64)
    below = np.maximum((label - top, mean - top), _LOWEST)
    return _Rows(scores, input, top, *map(float, below.mean(axis=1)))


def _smooth(rows: _Rows) -> _Rows:
    """Platt's smoothed targets where all labels are right: n parts of n + 1 stay, one goes to the runner-up."""
    runner_up = np.empty_like(rows.top)
    for block in row_blocks(*rows.scores.shape):
        runner_up[block] = np.partition(as_logits(rows.scores[block], rows.input), -2, axis=1)[:, -2]
    return replace(rows, label_mean=float(np.mean(runner_up - rows.top)) / (len(rows.top) + 1))


def _first_guess(rows: _Rows, labels: Ints, floor: float) -> float:
    """The optimum on evenly spaced rows: cheap, and near enough to save most passes over all rows."""
    step = len(labels) // _WARM_ROWS
    if step > 1:
        few = _prepare(rows.scores[::step], labels[::step], rows.input)
        if few.class_mean < few.label_mean < 0:
            return _minimize(few, -np.log(-few.label_mean), floor)
    return float(-np.log(-rows.label_mean))


def _below_top(logits: Array, top: Floats, beta: float) -> Array:
    """β (z − max z) in float32, the difference taken in the logits' own precision; as good as −∞ is −200."""
    precision = np.float64 if logits.dtype == np.float64 else np.float32
    with np.errstate(over="ignore"):
        t = np.subtract(logits, top[:, None].astype(precision), dtype=precision)
        t *= precision(beta)
    below: Array = np.maximum(t, -200, dtype=precision).astype(np.float32, copy=False)
    return below


def _minimize(rows: _Rows, start: float, floor: float) -> float:
    """Newton on log β; the sign of the slope shrinks a bracket, and a step that would leave it halves it instead."""
    at, low, high = start, floor, np.inf
    for _ in range(_MAX_STEPS):
        slope, curvature = rows.slope_and_curvature(at)
        if slope > 0:
            high = at
        else:
            low = at
        step = -slope / curvature if curvature > 0 else _LONGEST_STEP
        if min(abs(step), high - low) < _TOLERANCE:
            return at
        at += float(np.clip(step, -_LONGEST_STEP, _LONGEST_STEP))
        if not low < at < high:
            at = (low + high) / 2
    raise RuntimeError(f"temperature did not converge in {_MAX_STEPS} steps; 1/T is in [{np.exp(low)}, {np.exp(high)}]")
