"""Vector scaling (Guo et al. 2017): every class its own scale and bias, drawn towards plain temperature scaling.

    p = softmax(a ⊙ t + b),    t = log softmax(z / T₀)

T₀ is plain temperature scaling's. With a = 1 and b = 0 it is just that, and a ridge

    (ridge / 2n) (10 Σ (a − 1)² + Σ b²)

keeps it there until the samples of a class outweigh it: on real sets, scales ten times as stiff as biases did least
harm to small ones. The loss is convex; L-BFGS, its variables scaled by the curvature at the start, finds the optimum.
Because the scores enter as log-probabilities, neither their scale nor a shift of a row changes anything.
"""

import warnings
from collections.abc import Iterator

import numpy as np
from scipy.optimize import minimize

from proxcal._validation import Array, Floats, Input, Ints, ProxcalWarning, check_number
from proxcal.base._calibrator import BaseCalibrator, as_logits, softmax
from proxcal.base._softmax_rows import SoftmaxRows
from proxcal.base.temperature import fit_temperature

_STIFFNESS = 10.0  # of the scales, in terms of that of the biases
LOWEST = -100.0  # log-probabilities further down are as good as there, for the loss as for the rows
_MAX_STEPS = 500


class VectorScaling(BaseCalibrator):
    """A scale and a bias a class by log loss; `ridge` draws them to 1 and 0. Predictions may change.

    Learns `temperature_` (T₀), `scale_` and `bias_`.
    """

    def __init__(self, *, ridge: float = 10.0, input: Input = "logits") -> None:
        self.ridge = ridge
        self.input = input

    def _fit(self, scores: Array, labels: Ints) -> None:
        ridge = check_number("ridge", self.ridge, above=0)
        rows = SoftmaxRows.of(scores, labels, self.input)
        self.temperature_ = fit_temperature(rows)
        objective = _Objective(rows, self.temperature_, ridge)
        unit = 1 / np.sqrt(objective.curvature())

        def scaled(x: Floats) -> tuple[float, Floats]:
            loss, gradient = objective.loss_and_gradient(x * unit)
            return loss, gradient * unit

        options = {"maxiter": _MAX_STEPS, "ftol": 1e-8, "gtol": 1e-6}
        found = minimize(scaled, np.zeros_like(unit), jac=True, method="L-BFGS-B", options=options)
        if found.nit >= _MAX_STEPS:
            warnings.warn(f"vector scaling did not converge in {_MAX_STEPS} steps", ProxcalWarning, stacklevel=3)
        change, self.bias_ = np.split(found.x * unit, 2)
        self.scale_ = 1 + change

    def _rows(self, scores: Array) -> Floats:
        probs = softmax(as_logits(scores, self.input), 1 / self.temperature_)
        t = np.log(np.maximum(probs, np.exp(LOWEST)))
        return softmax(t * self.scale_ + self.bias_)


class _Objective:
    """The loss with its ridge, in x = (a − 1, b)."""

    def __init__(self, rows: SoftmaxRows, temperature: float, ridge: float) -> None:
        self.rows, self.beta = rows, 1 / temperature
        self.n, self.n_classes = rows.scores.shape
        self.penalty = np.repeat([_STIFFNESS * ridge, ridge], self.n_classes) / self.n
        self.log_total = np.concatenate([np.log(np.exp(t).sum(axis=1)) for _, t in rows.below_top(self.beta)])

    def curvature(self) -> Floats:
        """The diagonal of the second derivative at x = 0."""
        sums = np.zeros((2, self.n_classes))
        for _, t in self._log_probs():
            p = np.exp(t)
            p -= p * p
            sums += np.einsum("ij,ij,ij->j", p, t, t), p.sum(axis=0)
        diagonal: Floats = sums.ravel() / self.n + self.penalty
        return diagonal

    def loss_and_gradient(self, x: Floats) -> tuple[float, Floats]:
        change, bias = x.astype(np.float32).reshape(2, -1)
        loss, gradient = 0.0, np.zeros((2, self.n_classes))
        for block, t in self._log_probs():
            own = np.arange(len(t)), self.rows.labels[block]
            p = t * (1 + change)
            p += bias
            p -= p.max(axis=1, keepdims=True)
            label = p[own]
            np.exp(p, out=p)
            total = p.sum(axis=1, keepdims=True)
            loss += float((np.log(total[:, 0]) - label).sum(dtype=np.float64))
            p /= total
            p[own] -= 1
            gradient += np.einsum("ij,ij->j", p, t), p.sum(axis=0)
        penalty = self.penalty * x
        return loss / self.n + float(penalty @ x) / 2, gradient.ravel() / self.n + penalty

    def _log_probs(self) -> Iterator[tuple[slice, Array]]:
        for block, t in self.rows.below_top(self.beta):
            t -= self.log_total[block, None]
            yield block, np.maximum(t, np.float32(LOWEST), out=t)
