"""Temperature scaling (Guo et al. 2017): one number that makes a network as sure as it is right.

    p = softmax(z / T),    T = argmin of the log loss on the calibration set

With β = 1/T the log loss is convex in β, so there is one optimum whatever the scale of the logits. It is sought in
log β, where that scale is only a shift, by Newton steps kept inside a bracket. With t = β (z − max z), one pass over
the rows gives Σ e, Σ e t and Σ e t² of e = exp(t), which is all that the slope and the curvature need:

    dL/d log β = mean(E[t] − t_label),    d²L/d(log β)² = mean(Var[t] + E[t] − t_label)

Two kinds of calibration set have no optimum. All right: the loss falls for ever as T → 0; the labels are then smoothed
as Platt (1999) did, one part in n + 1 of each going to the runner-up. Labels scored no higher than the average class:
T → ∞; T stops at a bound where the rows are all but uniform and their ranking still shows.

Batches are added (`partial_fit`) to sums that give the same T to 1e-6 of itself: see `_log_partition.py`.
"""

import warnings
from collections.abc import Callable

import numpy as np

from proxcal._validation import Array, Floats, Input, Ints, ProxcalWarning
from proxcal.base._calibrator import as_logits, softmax
from proxcal.base._log_partition import LogPartition
from proxcal.base._softmax_rows import SoftmaxRows
from proxcal.base._streaming import StreamingCalibrator

_FLAT = -12.0  # least log(β · scale), where scale is the mean distance of a logit below its row's largest
_LONGEST_STEP = 3.0  # in log β
_TOLERANCE = 1e-6  # on log T; the loss is quadratic there, so it is off by ~1e-12
_MAX_STEPS = 100
_WARM_ROWS = 2000  # a first solution on about so many rows starts the passes over all


class TemperatureScaling(StreamingCalibrator):
    """softmax(z / T) with T by log loss; for probabilities z is their logarithm. Order-preserving.

    Learns `temperature_`.

    >>> logits = [[4.0, 0.0], [3.0, 0.0], [0.0, 2.0], [0.0, 5.0], [4.0, 0.0]]
    >>> calibrator = TemperatureScaling().fit(logits, [0, 1, 1, 1, 0])
    >>> round(calibrator.temperature_, 2)
    2.34
    """

    preserves_order = True
    sums = ("knots_", "derivatives_", "totals_")

    def __init__(self, *, input: Input = "logits") -> None:
        self.input = input

    def _fit(self, scores: Array, labels: Ints) -> None:
        for name in self.sums:
            self.__dict__.pop(name, None)
        self.temperature_ = fit_temperature(SoftmaxRows.of(scores, labels, self.input))

    def _begin(self, scores: Array, labels: Ints) -> None:
        self._keep(LogPartition.empty(SoftmaxRows.of(scores, labels, self.input)))

    def _extend(self, scores: Array, labels: Ints) -> None:
        so_far = LogPartition(self.knots_, self.derivatives_, self.totals_)
        so_far = so_far.plus(SoftmaxRows.of(scores, labels, self.input))
        self._keep(so_far)
        self.temperature_ = temperature_of(so_far)

    def _keep(self, sums: LogPartition) -> None:
        self.knots_, self.derivatives_, self.totals_ = sums.knots, sums.derivatives, sums.totals

    def _rows(self, scores: Array) -> Floats:
        return softmax(as_logits(scores, self.input), 1 / self.temperature_)


def fit_temperature(rows: SoftmaxRows) -> float:
    """The T of least log loss, or where there is none the defined T of the module's docstring, with a warning."""

    def minimize(target: float, floor: float) -> float:
        return _minimize(rows, target, _first_guess(rows, target, floor), floor)

    mean = rows.mean_below.mean()
    return _fit(len(rows.top), rows.label_below.mean(), mean, lambda: rows.runner_up_below().mean(), minimize)


def temperature_of(sums: LogPartition) -> float:
    """The same of samples of which there are sums."""
    n, label, mean, runner_up = sums.totals

    def minimize(target: float, floor: float) -> float:
        at = sums.minimize(target)
        if at in sums.knots[[0, -1]]:
            warnings.warn(
                f"temperature stops at {np.exp(-at):.3g}, the end of the range that the first batch has set; begin with"
                " a larger one",
                ProxcalWarning,
                stacklevel=6,
            )
        return max(at, floor)

    return _fit(int(n), label / n, mean / n, lambda: runner_up / n, minimize)


def _fit(
    n: int,
    label: float,
    mean: float,
    runner_up: Callable[[], float],
    minimize: Callable[[float, float], float],
) -> float:
    """T of n samples whose label's logit, mean logit and runner-up lie so far below the largest on average; `minimize`
    gives the log β of least loss for a mean of the label's logit and the least log β."""
    target = label
    if target == 0:
        target = runner_up() / (n + 1)  # Platt's: n parts of n + 1 stay with the label, one goes to the runner-up
        if target == 0:
            warnings.warn(
                "every row has a tie for its largest score and the labels are in it: T = 1", ProxcalWarning, 5
            )
            return 1.0
        message = f"every label has its row's largest score: no T is best; labels smoothed by 1/{n + 1}"
        warnings.warn(message, ProxcalWarning, stacklevel=5)
    floor = _FLAT - np.log(-mean)
    at = minimize(target, floor) if target > mean else floor
    if at < floor + 2 * _TOLERANCE:
        message = f"no finite temperature is best for these labels: T stops at its bound, {np.exp(-at):.3g}"
        warnings.warn(message, ProxcalWarning, stacklevel=5)
    return float(np.exp(-at))


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

    def of_block(_: slice, t: Array) -> tuple[Array, Array]:
        e = np.exp(t)
        total = e.sum(axis=1)
        first = np.einsum("ij,ij->i", e, t) / total
        e *= t
        second = np.einsum("ij,ij->i", e, t) / total
        return first, second - first**2

    mean, variance = rows.of_blocks(of_block, beta, 2).mean(axis=1)
    return float(mean), float(variance)
