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

import numpy as np

from proxcal._validation import Array, Floats, Input, Ints, ProxcalWarning, blocks_of
from proxcal.base._calibrator import BaseCalibrator, as_logits, softmax
from proxcal.base._softmax_rows import SoftmaxRows

_FLAT = -12.0  # least log(β · scale), where scale is the mean distance of a logit below its row's largest
_LONGEST_STEP = 3.0  # in log β
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
        self.temperature_ = fit_temperature(SoftmaxRows.of(scores, labels, self.input))

    def _rows(self, scores: Array) -> Floats:
        return softmax(as_logits(scores, self.input), 1 / self.temperature_)


def fit_temperature(rows: SoftmaxRows) -> float:
    """The T of least log loss, or where there is none the defined T of the module's docstring, with a warning."""
    target, mean = rows.label_below.mean(), rows.mean_below.mean()
    if target == 0:
        target = _smoothed_target(rows)
        if target == 0:
            warnings.warn(
                "every row has a tie for its largest score and the labels are in it: T = 1", ProxcalWarning, 4
            )
            return 1.0
        message = f"every label has its row's largest score: no T is best; labels smoothed by 1/{len(rows.top) + 1}"
        warnings.warn(message, ProxcalWarning, stacklevel=4)
    floor = _FLAT - np.log(-mean)
    at = _minimize(rows, target, _first_guess(rows, target, floor), floor) if target > mean else floor
    if at < floor + 2 * _TOLERANCE:
        message = f"no finite temperature is best for these labels: T stops at its bound, {np.exp(-at):.3g}"
        warnings.warn(message, ProxcalWarning, stacklevel=4)
    return float(np.exp(-at))


def _smoothed_target(rows: SoftmaxRows) -> float:
    """Platt's smoothed targets where all labels are right: n parts of n + 1 stay, one goes to the runner-up."""
    runner_up = np.empty_like(rows.top)
    for block in blocks_of(rows.scores):
        runner_up[block] = np.partition(as_logits(rows.scores[block], rows.input), -2, axis=1)[:, -2]
    return float((runner_up - rows.top).mean() / (len(runner_up) + 1))


def _first_guess(rows: SoftmaxRows, target: float, floor: float) -> float:
    """The optimum on evenly spaced rows: cheap, and near enough to save most passes over all rows."""
    few = rows.every(len(rows.top) // _WARM_ROWS)
    few_target = few.label_below.mean()
    if few is rows or not few.mean_below.mean() < few_target < 0:
        return float(-np.log(-target))
    return _minimize(few, few_target, -np.log(-few_target), floor)


def _minimize(rows: SoftmaxRows, target: float, start: float, floor: float) -> float:
    """Newton on log β; the sign of the slope shrinks a bracket, and a step that would leave it halves it instead."""
    at, low, high = start, floor, np.inf
    for _ in range(_MAX_STEPS):
        mean, variance = _moments(rows, np.exp(at))
        slope = mean - np.exp(at) * target
        curvature = slope + variance
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


def _moments(rows: SoftmaxRows, beta: float) -> tuple[float, float]:
    """mean E[t] and mean Var[t] over the rows' softmax."""
    mean = variance = 0.0
    for _, t in rows.below_top(beta):
        e = np.exp(t)
        total = e.sum(axis=1)
        first = np.einsum("ij,ij->i", e, t) / total
        e *= t
        second = np.einsum("ij,ij->i", e, t) / total
        mean += float(first.sum(dtype=np.float64))
        variance += float((second - first**2).sum(dtype=np.float64))
    return mean / len(rows.top), variance / len(rows.top)
