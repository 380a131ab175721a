"""From a new confidence to a whole row of probabilities, its ranking kept.

The predicted class gets exactly the new confidence c. The others share 1 − c in proportion to p^β, with one β fitted
on the calibration errors, the only samples that say how probability is spread when the top is wrong. Overwriting the
top and rescaling the rest (β = 1, the paper's code) lets the runner-up overtake where c is small, and divides by zero
in saturated rows. So:

- "keep": where the runner-up would reach c, that row's exponent is lowered just enough. No row with this ranking has
  a top of 1/C or less; for such c the exponent stops at a small floor, and the row is nearly uniform.
- "rerank": no such correction; the runner-up may overtake.
- "paper": β = 1 and no correction.
"""

import warnings
from dataclasses import dataclass
from typing import Literal

import numpy as np

from proxcal._validation import Array, Floats, Ints, ProxcalWarning
from proxcal.base._calibrator import BaseCalibrator
from proxcal.base.temperature import TemperatureScaling
from proxcal.proximity import Neighbors

Mode = Literal["keep", "rerank", "paper"]
MODES: tuple[Mode, ...] = ("keep", "rerank", "paper")

TINY = float(np.finfo(np.float64).tiny)  # stands for a probability of exactly 0
_AHEAD = 1 + 1e-9  # how far the top stays ahead of the runner-up
ROUNDING = 1e-11  # of a solved row's total
FLOOR = 1e-3  # the least exponent
_MAX_STEPS = 50  # Newton on a convex function from one side: a dozen suffice, and each leaves a valid exponent
_MIN_ERRORS = 20  # fewer say nothing of β
_MAX_ERRORS = 10_000  # more, evenly thinned, add nothing to one number


@dataclass(frozen=True, eq=False)
class Calibrated:
    """What is said of n samples: rows (n, C), the class predicted, the probability that it is right, and log proximity
    (None where no neighbours were sought)."""

    probs: Floats
    predicted: Ints
    confidence: Floats
    log_proximity: Floats | None


def fit_exponent(
    base: BaseCalibrator, scores: Array, neighbors: Neighbors | None, predicted: Ints, labels: Ints
) -> float:
    """β of least log loss for the labels among the classes not predicted: 1/T of a temperature fit to wrong predictions
    without the predicted class."""
    wrong = np.flatnonzero(predicted != labels)
    n_classes = scores.shape[1]
    if len(wrong) < _MIN_ERRORS or n_classes == 2:
        return 1.0
    wrong = wrong[:: -(-len(wrong) // _MAX_ERRORS)]
    others = np.empty((len(wrong), n_classes - 1), dtype=np.float32)
    for block, rows in base.blocks(scores[wrong], None if neighbors is None else neighbors.take(wrong)):
        others[block] = _log(rows[np.arange(n_classes) != predicted[wrong[block], None]].reshape(len(rows), -1))
    place = labels[wrong] - (labels[wrong] > predicted[wrong])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProxcalWarning)  # an extreme β is bounded, and as good as its neighbours
        return 1 / TemperatureScaling().fit(others, place).temperature_


def rebuild(rows: Floats, confidence: Floats, exponent: float, mode: Mode) -> Floats:
    """Rows whose predicted class has the new confidence; `rows` are the base's, and are not changed."""
    n = np.arange(len(rows))
    predicted = rows.argmax(axis=1)
    below_runner_up = _log(rows)
    below_runner_up[n, predicted] = -np.inf
    runner_up = below_runner_up.max(axis=1)
    below_runner_up -= runner_up[:, None]
    if mode == "paper":
        exponent = 1.0
    weights = np.exp(exponent * below_runner_up)
    total = weights.sum(axis=1)  # the runner-up's weight is 1
    if mode == "keep":
        least_total = _AHEAD * (1 - confidence) / np.maximum(confidence, TINY)
        overtaken = np.flatnonzero(total < least_total)
        lowered = _lower_exponents(below_runner_up[overtaken], least_total[overtaken], exponent)
        weights[overtaken] = np.exp(lowered[:, None] * below_runner_up[overtaken])
        total[overtaken] = weights[overtaken].sum(axis=1)
    weights *= ((1 - confidence) / total)[:, None]
    weights[n, predicted] = confidence
    if mode == "keep":
        impossible = overtaken[total[overtaken] < (1 - ROUNDING) * least_total[overtaken]]
        weights[impossible] = _nearly_uniform(rows[impossible], predicted[impossible])
    return weights


def _lower_exponents(below: Floats, least_total: Floats, exponent: float) -> Floats:
    """The largest b ≤ β with Σ exp(b · below) ≥ least_total, a row; the floor where there is none.

    log Σ exp is convex and falls with b, so Newton's steps from 0 never pass the solution.
    """
    b = np.where(least_total < below.shape[1] - 1, TINY, min(FLOOR, exponent))
    finite = np.where(np.isfinite(below), below, 0)
    target = np.log(least_total)
    for _ in range(_MAX_STEPS):
        weights = np.exp(b[:, None] * below)
        total = weights.sum(axis=1)
        gap = np.log(total) - target
        fall = -(weights * finite).sum(axis=1) / total
        reachable = (gap > 0) & (fall > ROUNDING)
        step = np.where(reachable, gap / np.where(reachable, fall, 1), 0)
        b = np.minimum(b + step, exponent)
        if not np.any(step > ROUNDING * b):
            break
    return b


def _nearly_uniform(rows: Floats, predicted: Ints) -> Floats:
    logs = _log(rows)
    logs -= logs.max(axis=1, keepdims=True)
    flat = np.exp(FLOOR * logs)
    flat[np.arange(len(rows)), predicted] *= _AHEAD
    flat /= flat.sum(axis=1, keepdims=True)
    return flat


def _log(rows: Floats) -> Floats:
    logs: Floats = np.log(np.maximum(rows, TINY))
    return logs
