"""One axis on the scale where it is standard normal: any increasing scale in, the same scores out.

Φ⁻¹((rank - ½) / n) by the calibration set's empirical distribution, ties at their middle rank, straight lines between
the distinct values and the ends' scores beyond them. Confidences pile up at 1 and proximities may span many powers of
ten; on this scale both are well conditioned. A pile keeps its own score, and values that are all equal get 0.
"""

from typing import Self

import numpy as np
from scipy.special import ndtri

from proxcal._estimator import Estimator
from proxcal._validation import Floats, Ints

MAX_KNOTS = 2049


class NormalScores(Estimator):
    """Values to normal scores, increasing and piecewise linear, in at most `MAX_KNOTS` knots."""

    values_: Floats
    scores_: Floats

    def fit(self, values: Floats) -> Self:
        distinct, counts = np.unique(values, return_counts=True)
        middle = np.cumsum(counts) - counts / 2  # the middle rank less a half
        scores = ndtri(middle / len(values))
        keep = _knots(scores)
        self.values_, self.scores_ = distinct[keep], scores[keep]
        return self

    def transform(self, values: Floats) -> Floats:
        scores = np.interp(values, self.values_, self.scores_)
        return np.clip(scores, self.scores_[0], self.scores_[-1])

    def fit_transform(self, values: Floats) -> Floats:
        return self.fit(values).transform(values)


def _knots(scores: Floats) -> Ints:
    """Which knots to keep: those on both sides of every step of an even grid over the scores.

    So no score that is left out moves by more than one step, in the tails and beside a pile as in the middle.
    """
    if len(scores) <= MAX_KNOTS:
        return np.arange(len(scores))
    above = np.searchsorted(scores, np.linspace(scores[0], scores[-1], MAX_KNOTS // 2 + 1)[1:-1])
    return np.unique(np.concatenate(([0, len(scores) - 1], above - 1, above)))
