"""What temperature scaling needs of samples that are gone: its slope is a function of log β and of one sum over labels.

With d = z − max z and t = β d, the log loss has the slope g(log β) − β Σ d_label, where g = Σ E[t] knows no labels.
g and its first two derivatives along x = log β,

    g' = Σ E[t] + Var[t],    g'' = g' + Σ 2 E[t²] + E[t³] − E[t] E[t²] − 2 E[t] (E[t] + Var[t])

are summed at fixed knots and joined by quintic Hermite curves, whose error falls with the sixth power of the step; the
sum over labels is exact. So T comes out as from all samples at once, to 1e-6 of itself, from a hundred numbers.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy.interpolate import BPoly
from scipy.optimize import brentq

from proxcal._validation import Array, Floats
from proxcal.base._softmax_rows import SoftmaxRows

REACH = 5.0  # of the knots in log β, to either side of where an average row's runner-up has 1/(1 + e) to 1
_STEP = 0.25


@dataclass(frozen=True)
class LogPartition:
    """Sums over samples: `derivatives` (knots, 3) at `knots`, of log β; `totals` of what lies below the rows' largest
    logits: samples, label, mean of the classes, runner-up."""

    knots: Floats
    derivatives: Floats
    totals: Floats

    @classmethod
    def empty(cls, rows: SoftmaxRows) -> Self:
        """No samples, at knots that suit these rows."""
        gap = float(np.median(-rows.runner_up_below()))
        knots = np.arange(-REACH, REACH + _STEP / 2, _STEP) - np.log(gap if gap > 0 else 1.0)
        return cls(knots, np.zeros((len(knots), 3)), np.zeros(4))

    def plus(self, rows: SoftmaxRows) -> Self:
        added = np.array([_sums(rows, np.exp(x)) for x in self.knots])
        below = rows.label_below, rows.mean_below, rows.runner_up_below()
        totals = np.array([len(rows.top), *(part.sum() for part in below)])
        return replace(self, derivatives=self.derivatives + added, totals=self.totals + totals)

    def minimize(self, target: float) -> float:
        """The log β of least loss where the label's logit lies at `target` on average; an end of the knots where it is
        beyond."""
        slopes = self.derivatives[:, 0] - np.exp(self.knots) * target * self.totals[0]
        if slopes[0] >= 0 or slopes[-1] <= 0:
            return float(self.knots[0] if slopes[0] >= 0 else self.knots[-1])
        curve = BPoly.from_derivatives(self.knots, self.derivatives)
        left = int(np.argmax(slopes > 0)) - 1
        return float(
            brentq(lambda x: curve(x) - np.exp(x) * target * self.totals[0], *self.knots[left : left + 2], xtol=1e-12)
        )


def _sums(rows: SoftmaxRows, beta: float) -> Floats:
    sums: Floats = np.sum([_derivatives(t) for _, t in rows.below_top(beta)], axis=0)
    return sums


def _derivatives(t: Array) -> Floats:
    """g, g' and g'' of a block."""
    e = np.exp(t)
    total = e.sum(axis=1).astype(np.float64)
    moments = []
    for _ in range(3):
        moments.append(np.einsum("ij,ij->i", e, t) / total)
        e *= t
    first, second, third = moments
    slope = first + second - first**2
    return np.array([first.sum(), slope.sum(), (slope + 2 * second + third - first * second - 2 * first * slope).sum()])
