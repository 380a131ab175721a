"""Ensemble temperature scaling (Zhang et al. 2020): the tempered softmax, the plain one and the uniform row, mixed.

    p = w₁ softmax(z / T) + w₂ softmax(z) + w₃ / C,    w ≥ 0, Σ w = 1

The loss is convex in w for a given T, so w is solved to the optimum and only log T is searched, around the T of plain
temperature scaling, with w solved anew for every T. The log loss needs no more of a sample than the three
probabilities of its label; the Brier score is a quadratic in w whose nine coefficients one pass over the rows gives.
"""

from collections.abc import Callable
from typing import Literal

import numpy as np
from scipy.optimize import minimize_scalar

from proxcal._validation import Array, Floats, Input, Ints, check_choice
from proxcal.base._calibrator import BaseCalibrator, as_logits, softmax
from proxcal.base._simplex import least_quadratic, most_likely_mixture
from proxcal.base._softmax_rows import SoftmaxRows
from proxcal.base.temperature import fit_temperature

Solved = tuple[float, Floats]  # the least loss for a T, and the weights that reach it

_LOOK_AROUND = np.linspace(-2, 2, 9)  # of log T, on few rows, before the search on all
_FEW_ROWS = 2000


class EnsembleTemperatureScaling(BaseCalibrator):
    """The mixture above, T and w by `loss`: "log" or "brier" (over all classes). Order-preserving.

    Learns `temperature_` and `weights_` (three, in the order above); on the calibration set its loss is never above
    that of temperature scaling. Where every label is right no T is best: it is then temperature scaling's, alone.
    """

    preserves_order = True

    def __init__(self, *, loss: Literal["log", "brier"] = "log", input: Input = "logits") -> None:
        self.loss = loss
        self.input = input

    def _fit(self, scores: Array, labels: Ints) -> None:
        solve = _SOLVERS[check_choice("loss", self.loss, ("log", "brier"))]
        rows = SoftmaxRows.of(scores, labels, self.input)
        alone = fit_temperature(rows)
        if not rows.label_below.any():
            self.temperature_, self.weights_ = alone, np.array([1.0, 0.0, 0.0])
            return
        log_t = _search(solve, rows, np.log(alone))
        self.temperature_, self.weights_ = float(np.exp(log_t)), solve(rows)(log_t)[1]

    def _rows(self, scores: Array) -> Floats:
        z = as_logits(scores, self.input)
        tempered, plain, uniform = self.weights_
        rows = softmax(z, 1 / self.temperature_)
        rows *= tempered
        rows += plain * softmax(z)
        rows += uniform / rows.shape[1]
        return rows


def _search(solver: Callable[[SoftmaxRows], Callable[[float], Solved]], rows: SoftmaxRows, alone: float) -> float:
    """The log T of least loss: a look around on few rows, a bounded search on all, and never worse than `alone`."""
    on_few, on_all = solver(rows.every(len(rows.top) // _FEW_ROWS)), solver(rows)
    around = alone + _LOOK_AROUND
    near = around[np.argmin([on_few(log_t)[0] for log_t in around])]
    width = _LOOK_AROUND[1] - _LOOK_AROUND[0]
    found = minimize_scalar(
        lambda log_t: on_all(log_t)[0], bounds=(near - width, near + width), method="bounded", options={"xatol": 1e-4}
    )
    return float(found.x) if found.fun < on_all(alone)[0] else alone


def _log_solver(rows: SoftmaxRows) -> Callable[[float], Solved]:
    plain, uniform = _label_probability(rows, 1.0, _totals(rows, 1.0)), np.full(len(rows.top), 1 / rows.scores.shape[1])

    def solve(log_t: float) -> Solved:
        beta = np.exp(-log_t)
        tempered = _label_probability(rows, beta, _totals(rows, beta))
        weights, loss = most_likely_mixture(np.stack([tempered, plain, uniform]))
        return loss, weights

    return solve


def _brier_solver(rows: SoftmaxRows) -> Callable[[float], Solved]:
    plain_total, uniform = _totals(rows, 1.0), 1 / rows.scores.shape[1]
    plain = _label_probability(rows, 1.0, plain_total).mean()

    def solve(log_t: float) -> Solved:
        beta = np.exp(-log_t)
        total, *products = _products(rows, beta)
        totals = total**2, total * plain_total, plain_total**2
        squared, crossed, plain_squared = (np.mean(p / t) for p, t in zip(products, totals, strict=True))
        curvature = np.array([[squared, crossed, uniform], [crossed, plain_squared, uniform], [uniform] * 3])
        target = np.array([_label_probability(rows, beta, total).mean(), plain, uniform])
        weights = least_quadratic(curvature, target)
        return float(weights @ curvature @ weights - 2 * target @ weights + 1), weights

    return solve


def _label_probability(rows: SoftmaxRows, beta: float, total: Floats) -> Floats:
    probability: Floats = np.exp(beta * rows.label_below) / total
    return probability


def _totals(rows: SoftmaxRows, beta: float) -> Floats:
    """Σ e of each row, e = exp(β (z − max z))."""
    (total,) = rows.of_blocks(lambda _, t: np.exp(t, out=t).sum(axis=1), beta, 1)
    return np.asarray(total)


def _products(rows: SoftmaxRows, beta: float) -> Floats:
    """Of each row Σ e, Σ e², Σ e u and Σ u², e as in `_totals` and u the same for β = 1."""
    sums = np.empty((4, len(rows.top)))
    for (block, e), (_, u) in zip(rows.below_top(beta), rows.below_top(1.0), strict=True):
        np.exp(e, out=e)
        np.exp(u, out=u)
        sums[0, block] = e.sum(axis=1)
        for i, (a, b) in enumerate([(e, e), (e, u), (u, u)], start=1):
            sums[i, block] = np.einsum("ij,ij->i", a, b)
    return sums


_SOLVERS = {"log": _log_solver, "brier": _brier_solver}
