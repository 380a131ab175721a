"""A model that gives one number, how sure it is of its answer, and no row of classes: an LLM, a detector, retrieval.

Its confidence c is the row (1 − c, c) of two classes, wrong and right, and whether the answer was right is the label.
So every base calibrates it as it calibrates rows (temperature scaling: logit(c) / T; vector scaling: beta calibration
of Kull et al. 2017, a log c − b log(1 − c) + d), and the neighbours' evidence says how many of them were right and how
far their confidence was off. What is asked of a row is always the second class, however small.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import ArrayLike

from proxcal._validation import Array, Floats, Input, Ints, ProxcalWarning, check_labels, check_samples, check_scores
from proxcal.base._calibrator import as_logits

WRONG, RIGHT = 0, 1
NO_ROWS = (
    "scores were bare confidences at fit (fit_confidence): there are no classes to predict or to give probabilities;"
    " call confidence(confidence, features)"
)


def rows_of(confidence: ArrayLike, input: Input) -> Array:
    """(n, 2), of the kind that the base takes."""
    (right,) = check_samples(confidence=confidence)
    rows: Floats = np.stack([1 - right, right], axis=1)
    return rows if input == "probs" else as_logits(rows, "probs")


def check_labelled(
    scores: ArrayLike, labels: ArrayLike, input: Input, *, bare: bool = False, n_classes: int | None = None
) -> tuple[Array, Ints]:
    """Rows of scores and a label each; of bare confidences, and whether each was right, such rows and labels."""
    if bare:
        _, right = check_samples(confidence=scores, correct=labels)
        return rows_of(scores, input), np.where(right, RIGHT, WRONG)
    checked = check_scores(scores, input, n_classes=n_classes)
    return checked, check_labels(labels, *checked.shape)


@contextmanager
def nothing_predicted() -> Iterator[None]:
    """No word of changed predictions: a confidence that crosses ½ changes none."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".* of the predictions on its own calibration set", ProxcalWarning)
        yield
