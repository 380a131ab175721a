"""Proximity-Logistic: logit P(correct) = logit(confidence) + g(u, v), u and v the normal scores of confidence and
proximity.

The densities of the paper's Density-Ratio are a way to P(correct | confidence, proximity); a logistic surface aims at
that directly, starts from the confidence as it is, and is shrunk towards leaving it alone.
"""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from proxcal._validation import Bools, Floats, Ints, check_samples
from proxcal.informed._calibrator import Samples
from proxcal.informed._correction import LogisticCorrection


class ProximityLogistic(LogisticCorrection):
    """A surface over (confidence, proximity) added to the log-odds of the confidence.

    Parameters
    ----------
    degree : total degree of the polynomial surface.
    gate : how many standard errors of its gain in held-out log loss are not believed; at or under them nothing changes.
    random_state : draws the folds of the cross-validation.
    """

    def __init__(self, *, degree: int = 3, gate: float = 0.5, random_state: int = 0) -> None:
        super().__init__(degree=degree, gate=gate, random_state=random_state)

    def fit(self, confidence: ArrayLike, proximity: ArrayLike, correct: ArrayLike) -> Self:
        p, d, right = check_samples(confidence=confidence, proximity=proximity, correct=correct)
        self._learn(p, d, right, _nothing_more(p), None)
        return self

    def predict(self, confidence: ArrayLike, proximity: ArrayLike) -> Floats:
        check_is_fitted(self)
        p, d = check_samples(confidence=confidence, proximity=proximity)
        return self._corrected(p, d, _nothing_more(p))

    def fit_held_out(self, samples: Samples, correct: Bools, folds: Ints) -> Floats:
        return self._learn(samples.confidence, samples.log_proximity, correct, _nothing_more(samples.confidence), folds)


def _nothing_more(confidence: Floats) -> Floats:
    return np.empty((len(confidence), 0))
