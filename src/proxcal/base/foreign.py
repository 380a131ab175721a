"""Anyone's calibrator as a base: an object with `fit(probs, y)` and `predict_proba(probs)`.

What the object wants is said, never guessed: probabilities, unless the argument `scores`, or the object's own attribute
`scores`, says "logits". What it returns is checked: a torch tensor or float32 is as welcome as float64, and rows that
all but sum to 1 are made to; anything that is no probability is an error with the object's name. The object given is
never touched: a scikit-learn estimator is cloned, any other copied.

A class that the object never saw (its `classes_` lacks it) keeps the model's own probability, the rest share the rest.
"""

import copy
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from proxcal._validation import INPUTS, ROW_SUM_TOLERANCE, Array, Floats, Input, Ints, check_choice
from proxcal.base._calibrator import BaseCalibrator, as_logits, as_probs


class ForeignCalibrator(BaseCalibrator):
    """`calibrator` fitted to what it wants of the scores; `scores=None` asks its attribute `scores`, or means "probs".

    Learns `fitted_`, the object after its `fit`, `scores_`, what it is given, and `columns_`, the classes it returns.

    >>> from sklearn.linear_model import LogisticRegression
    >>> logits = [[2.0, 0.0], [1.0, 0.0], [0.0, 3.0], [0.0, 1.0]]
    >>> calibrator = ForeignCalibrator(calibrator=LogisticRegression(), scores="logits").fit(logits, [0, 1, 1, 1])
    >>> calibrator.predict_proba(logits).shape
    (4, 2)
    """

    def __init__(self, *, calibrator: Any, scores: Input | None = None, input: Input = "logits") -> None:
        self.calibrator = calibrator
        self.scores = scores
        self.input = input

    @property
    def preserves_order(self) -> bool:  # type: ignore[override]
        return bool(getattr(self.calibrator, "preserves_order", False))

    @property
    def fits_closely(self) -> bool:  # type: ignore[override]
        """Unless the object says otherwise: of what is not known the worse is assumed."""
        return bool(getattr(self.calibrator, "fits_closely", True))

    def _fit(self, scores: Array, labels: Ints) -> None:
        self.scores_ = wanted_scores(self.calibrator, self.scores)
        is_estimator = isinstance(self.calibrator, BaseEstimator)
        self.fitted_ = clone(self.calibrator) if is_estimator else copy.deepcopy(self.calibrator)
        self.fitted_.fit(self._given(scores), labels)
        self.columns_ = self._columns()

    def _rows(self, scores: Array) -> Floats:
        returned = self._checked(self.fitted_.predict_proba(self._given(scores)), len(scores))
        probs = as_probs(scores, self.input)
        probs[:, self.columns_] = 0
        probs[:, self.columns_] = returned * np.maximum(1 - probs.sum(axis=1, keepdims=True), 0)
        return probs

    def _given(self, scores: Array) -> Array:
        return (as_probs if self.scores_ == "probs" else as_logits)(scores, self.input)

    def _columns(self) -> Ints:
        """The class of each column that the object returns."""
        classes = getattr(self.fitted_, "classes_", None)
        if classes is None:
            return np.arange(self.n_classes_)
        columns = np.asarray(classes)
        known = np.arange(self.n_classes_)
        if columns.ndim != 1 or len(np.unique(columns)) != len(columns) or not np.isin(columns, known).all():
            raise ValueError(f"{self._name} has classes_ {classes!r}; they need to be among 0 to {self.n_classes_ - 1}")
        return columns.astype(np.intp)

    def _checked(self, returned: Any, n_rows: int) -> Floats:
        if hasattr(returned, "detach"):  # a torch tensor
            returned = returned.detach().cpu().double()
        rows = np.array(returned, dtype=np.float64, order="C")
        if rows.shape != (n_rows, len(self.columns_)):
            raise ValueError(
                f"{self._name} returned probabilities of shape {rows.shape}; they need shape"
                f" {(n_rows, len(self.columns_))} (if it saw fewer classes, its attribute classes_ must say which)"
            )
        if not np.isfinite(rows).all() or rows.min() < 0:
            raise ValueError(f"{self._name} returned probabilities that are negative or not finite")
        sums = rows.sum(axis=1, keepdims=True)
        worst = sums.flat[np.abs(sums - 1).argmax()]
        if abs(worst - 1) > ROW_SUM_TOLERANCE:
            raise ValueError(f"{self._name} returned a row that sums to {worst:.4g}; its rows need to sum to 1")
        rows /= sums
        return rows

    @property
    def _name(self) -> str:
        return type(self.calibrator).__name__


def wanted_scores(calibrator: Any, scores: Input | None) -> Input:
    """What the object is to be given: as the argument says, else its attribute `scores`, else probabilities."""
    if scores is not None:
        return check_choice("scores", scores, INPUTS)
    if isinstance(calibrator, BaseCalibrator):
        return calibrator.input
    return check_choice(f"{type(calibrator).__name__}.scores", getattr(calibrator, "scores", "probs"), INPUTS)
