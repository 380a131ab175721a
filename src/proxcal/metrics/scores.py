"""The proper scores: mean losses that only a better probability lowers, bins or no bins.

    Brier = mean (confidence - correct)²
    NLL   = mean -log(confidence if correct else 1 - confidence)

Both judge the confidence of the predicted class alone; `multiclass_nll` judges the whole row: mean -log p(label). As in
scikit-learn, a probability is kept float64's epsilon away from 0 and 1: one certain mistake costs 36, not infinity.
"""

from dataclasses import dataclass, field
from typing import Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from proxcal._validation import Bools, Floats, check_labels, check_samples, check_scores

EPSILON = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class MeanLoss:
    """A mean loss and the loss of each sample."""

    value: float
    losses: Floats = field(repr=False)


@overload
def brier(confidence: ArrayLike, correct: ArrayLike, *, return_result: Literal[False] = False) -> float: ...
@overload
def brier(confidence: ArrayLike, correct: ArrayLike, *, return_result: Literal[True]) -> MeanLoss: ...
def brier(confidence: ArrayLike, correct: ArrayLike, *, return_result: bool = False) -> float | MeanLoss:
    """Brier score of the top label: the mean of (confidence - correct)²."""
    return _mean(_squared_errors(*check_samples(confidence=confidence, correct=correct)), return_result)


@overload
def nll(confidence: ArrayLike, correct: ArrayLike, *, return_result: Literal[False] = False) -> float: ...
@overload
def nll(confidence: ArrayLike, correct: ArrayLike, *, return_result: Literal[True]) -> MeanLoss: ...
def nll(confidence: ArrayLike, correct: ArrayLike, *, return_result: bool = False) -> float | MeanLoss:
    """Log loss of the top label: the mean of -log(confidence if correct else 1 - confidence)."""
    return _mean(_log_losses(*check_samples(confidence=confidence, correct=correct)), return_result)


@overload
def multiclass_nll(probs: ArrayLike, labels: ArrayLike, *, return_result: Literal[False] = False) -> float: ...
@overload
def multiclass_nll(probs: ArrayLike, labels: ArrayLike, *, return_result: Literal[True]) -> MeanLoss: ...
def multiclass_nll(probs: ArrayLike, labels: ArrayLike, *, return_result: bool = False) -> float | MeanLoss:
    """Log loss over all classes: the mean of -log(probability given to the label)."""
    rows = check_scores(probs, "probs")
    of_label = rows[np.arange(len(rows)), check_labels(labels, *rows.shape)]
    return _mean(_minus_log(of_label.astype(np.float64)), return_result)


def _squared_errors(confidence: Floats, correct: Bools) -> Floats:
    return (confidence - correct) ** 2


def _log_losses(confidence: Floats, correct: Bools) -> Floats:
    return _minus_log(np.where(correct, confidence, 1 - confidence))


def _minus_log(probability: Floats) -> Floats:
    return -np.log(np.clip(probability, EPSILON, 1 - EPSILON))


def _mean(losses: Floats, return_result: bool) -> float | MeanLoss:
    value = float(losses.mean())
    return MeanLoss(value, losses) if return_result else value
