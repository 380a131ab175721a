"""Isotonic regression (Zadrozny & Elkan 2002), one class against the rest.

Each class's probability goes through the increasing function nearest in squares to its 0/1 labels (linear between the
pooled steps, constant outside them), and the rows are made to sum to 1. A class that the calibration set lacks keeps
its own probability; a row of zeros stays as the model gave it.
"""

import numpy as np

from proxcal._validation import Array, Floats, Input, Ints, check_choice
from proxcal.base._calibrator import BaseCalibrator, as_probs
from proxcal.base._one_vs_rest import probability_columns, rows_to_one, warn_of_changed_predictions
from proxcal.base._pooling import TIES, Tally, Ties, blend, interpolated, own_share

_ITSELF = np.array([[0.0, 1.0], [0.0, 1.0]])  # the function of a class that the calibration set lacks


class IsotonicRegression(BaseCalibrator):
    """One increasing function a class; `ties="break"` makes each strictly so, and a class keeps its order of samples.

    Learns `knots_` (2, knots), the functions of all classes end to end, `ends_`, where each ends, and `own_share_`.
    """

    fits_closely = True

    def __init__(self, *, ties: Ties = "keep", input: Input = "logits") -> None:
        self.ties = ties
        self.input = input

    def _fit(self, scores: Array, labels: Ints) -> None:
        self.own_share_ = own_share(check_choice("ties", self.ties, TIES), len(labels))
        functions = []
        members = np.split(np.argsort(labels, kind="stable"), np.bincount(labels, minlength=scores.shape[1]).cumsum())
        for classes, columns in probability_columns(scores, self.input):
            for column, own in zip(columns, members[classes], strict=True):
                functions.append(_increasing(column, column[own]) if len(own) else _ITSELF)
        self.knots_ = np.concatenate(functions, axis=1)
        self.ends_ = np.cumsum([function.shape[1] for function in functions])
        warn_of_changed_predictions(self, scores)

    def _rows(self, scores: Array) -> Floats:
        probs = as_probs(scores, self.input)
        values = np.empty_like(probs)
        for k, knots in enumerate(np.split(self.knots_, self.ends_[:-1], axis=1)):
            values[:, k] = interpolated(probs[:, k], knots)
        return rows_to_one(blend(values, probs, self.own_share_), probs)


def _increasing(column: Floats, positives: Floats) -> Floats:
    tally = Tally(positives)
    tally.add(np.sort(column))
    return tally.knots()
