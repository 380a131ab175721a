"""What the two logistic calibrators share: a surface over (confidence, proximity), further columns beside it, a
ridge."""

import numpy as np
from scipy.special import expit

from proxcal._held_out import assign_folds
from proxcal._validation import Bools, Floats, Ints, check_integer, check_number
from proxcal.informed._calibrator import InformedCalibrator
from proxcal.informed._normal_scores import NormalScores
from proxcal.informed._ridge import fit_ridge, log_odds
from proxcal.informed._surface import surface, surface_penalty


class LogisticCorrection(InformedCalibrator):
    """logit P(correct) = logit(confidence) + columns · w. Subclasses say how much the surface's terms are penalised."""

    degree: int
    gate: float
    random_state: int
    surface_weight: float = 1.0  # penalty of the surface beside that of a further column

    def __init__(self, *, degree: int = 3, gate: float = 1.0, random_state: int = 0) -> None:
        self.degree = degree
        self.gate = gate
        self.random_state = random_state

    def _learn(self, confidence: Floats, proximity: Floats, correct: Bools, more: Floats, folds: Ints | None) -> Floats:
        """Fit on checked samples; returns what each sample was given by the folds that did not hold it."""
        check_integer("degree", self.degree, at_least=1)
        check_number("gate", self.gate, at_least=0)
        if folds is None:
            folds = assign_folds(len(confidence), self.random_state)
        self.confidence_scores_ = NormalScores().fit(confidence)
        self.proximity_scores_ = NormalScores().fit(proximity)
        self.center_ = more.mean(axis=0)
        spread = more.std(axis=0)
        self.spread_ = np.where(spread > 0, spread, 1)
        penalty = np.concatenate([self.surface_weight * surface_penalty(self.degree), np.ones(more.shape[1])])
        columns = self._columns(confidence, proximity, more)
        found = fit_ridge(columns, penalty, log_odds(confidence), correct, folds, self.gate)
        self.weights_, self.strength_, self.share_ = found.weights, found.strength, found.share
        return confidence if self.share_ == 0 else expit(found.held_out)

    def _corrected(self, confidence: Floats, proximity: Floats, more: Floats) -> Floats:
        if self.share_ == 0:
            return confidence
        # einsum, not BLAS: a sample's result must not depend on how many came with it
        correction = np.einsum("ij,j->i", self._columns(confidence, proximity, more), self.weights_)
        corrected: Floats = expit(log_odds(confidence) + correction)
        return corrected

    def _columns(self, confidence: Floats, proximity: Floats, more: Floats) -> Floats:
        u, v = self.confidence_scores_.transform(confidence), self.proximity_scores_.transform(proximity)
        return np.column_stack([surface(u, v, self.degree), (more - self.center_) / self.spread_])
