"""Neighborhood-Logistic: Proximity-Logistic with evidence, what the neighbours found say of a sample
(`proximity/evidence.py`).

The paper asks how far a sample's neighbours are. The same search also knows whether they carry the label that was
predicted and how right the model was on them, which says far more of P(correct). Once that is known the surface is
worth little: it is penalised more, so that with few samples the evidence is learned first.
"""

from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from proxcal._validation import Bools, Floats, Ints, check_features, check_samples
from proxcal.informed._calibrator import Samples
from proxcal.informed._correction import LogisticCorrection


class NeighborhoodLogistic(LogisticCorrection):
    """A surface over (confidence, proximity), and columns of evidence, added to the log-odds of the confidence.

    Parameters
    ----------
    degree : total degree of the polynomial surface.
    gate : how many standard errors of its gain in held-out log loss are not believed; at or under them nothing changes.
    random_state : draws the folds of the cross-validation.
    """

    takes_evidence: ClassVar[bool] = True
    surface_weight = 10.0

    def __init__(self, *, degree: int = 3, gate: float = 1.0, random_state: int = 0) -> None:
        super().__init__(degree=degree, gate=gate, random_state=random_state)

    def fit(self, confidence: ArrayLike, proximity: ArrayLike, correct: ArrayLike, evidence: ArrayLike) -> Self:
        p, d, right = check_samples(confidence=confidence, proximity=proximity, correct=correct)
        columns = check_features(evidence, n_samples=len(p), name="evidence")
        self._learn(p, d, right, columns.astype(np.float64), None)
        return self

    def predict(self, confidence: ArrayLike, proximity: ArrayLike, evidence: ArrayLike) -> Floats:
        check_is_fitted(self)
        p, d = check_samples(confidence=confidence, proximity=proximity)
        columns = check_features(evidence, n_samples=len(p), name="evidence")
        if columns.shape[1] != len(self.center_):
            raise ValueError(f"evidence has {columns.shape[1]} columns; it had {len(self.center_)} at fit")
        return self._corrected(p, d, columns.astype(np.float64))

    def fit_held_out(self, samples: Samples, correct: Bools, folds: Ints) -> Floats:
        if samples.evidence is None:
            raise ValueError("evidence is missing: NeighborhoodLogistic needs px.evidence of the samples")
        return self._learn(samples.confidence, samples.log_proximity, correct, samples.evidence, folds)
