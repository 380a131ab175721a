"""Each sample's loss as a function of its own temperature, for methods that give every row one.

Whatever sets the temperatures, a sample's loss depends on one number, s = log(T / T₀). A pass over the rows for each
of a few dozen values of s gives the loss and its slope there; cubic Hermite curves in between are exact to about 1e-5,
and a search over any number of parameters then costs nothing that grows with the number of classes.
"""

from dataclasses import dataclass
from typing import Literal, Self

import numpy as np

from proxcal._validation import Array, Floats
from proxcal.base._softmax_rows import SoftmaxRows

Loss = Literal["log", "brier"]
LOSSES: tuple[Loss, ...] = ("log", "brier")
RANGE = 2.0  # a row's log T may differ so much from log T₀
_KNOTS = np.linspace(-RANGE, RANGE, 33)
_STEP = _KNOTS[1] - _KNOTS[0]


@dataclass(frozen=True)
class LossCurves:
    """Values and slopes at the knots, (samples, knots)."""

    values: Floats
    slopes: Floats

    @classmethod
    def of(cls, rows: SoftmaxRows, temperature: float, loss: Loss) -> Self:
        knots = [losses(rows, temperature * np.exp(s), loss) for s in _KNOTS]
        return cls(np.stack([value for value, _ in knots], axis=1), np.stack([slope for _, slope in knots], axis=1))

    def at(self, s: Floats) -> tuple[Floats, Floats]:
        """Loss and slope of each sample at its own s within the range."""
        sample = np.arange(len(s))
        left = np.clip(((s + RANGE) / _STEP).astype(np.intp), 0, len(_KNOTS) - 2)
        u = (s - _KNOTS[left]) / _STEP
        v0, v1 = self.values[sample, left], self.values[sample, left + 1]
        d0, d1 = self.slopes[sample, left] * _STEP, self.slopes[sample, left + 1] * _STEP
        a, b = 2 * (v0 - v1) + d0 + d1, 3 * (v1 - v0) - 2 * d0 - d1
        return v0 + u * (d0 + u * (b + u * a)), (d0 + u * (2 * b + 3 * u * a)) / _STEP


def losses(rows: SoftmaxRows, temperature: float | Floats, loss: Loss) -> tuple[Floats, Floats]:
    """Each sample's loss at its temperature, and the slope along log T."""
    beta = 1 / temperature
    target = np.broadcast_to(beta * rows.label_below, rows.top.shape)
    of_block = _BLOCKS[loss]
    value, slope = rows.of_blocks(lambda block, t: of_block(t, target[block]), beta, 2)
    return value, slope


def _log_block(t: Array, target: Floats) -> tuple[Floats, Floats]:
    """log Σ e^t − t_label, and E[t] − t_label with its sign turned: log T falls where log β rises."""
    e = np.exp(t)
    total = e.sum(axis=1).astype(np.float64)
    mean = np.einsum("ij,ij->i", e, t) / total
    return np.log(total) - target, target - mean


def _brier_block(t: Array, target: Floats) -> tuple[Floats, Floats]:
    """Σ p² − 2 p_label + 1; with dp/d log β = p (t − E[t])."""
    e = np.exp(t)
    total = e.sum(axis=1).astype(np.float64)
    mean = np.einsum("ij,ij->i", e, t) / total
    label = np.exp(target) / total
    squares = np.einsum("ij,ij->i", e, e) / total**2
    e *= e
    tilted = np.einsum("ij,ij->i", e, t) / total**2
    return squares - 2 * label + 1, 2 * (label * (target - mean) - tilted + mean * squares)


_BLOCKS = {"log": _log_block, "brier": _brier_block}
