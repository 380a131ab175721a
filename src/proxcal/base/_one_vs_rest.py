"""What the methods that calibrate each class on its own share: columns of probabilities, and rows put together again.

Nothing ties the classes' calibrated values together, so a row must be made to sum to 1, a row of zeros has to become
something (the uncalibrated row), and the largest value may have moved to another class: how often is worth a warning.
"""

import warnings
from collections.abc import Iterator

import numpy as np

from proxcal._validation import Array, Floats, Input, ProxcalWarning, row_blocks
from proxcal.base._calibrator import BaseCalibrator

CHANGED_SHARE = 0.01
NOTHING = 1e-200  # rows whose values sum to less are as good as all zero


def rows_to_one(values: Floats, probs: Floats) -> Floats:
    """Rows of values divided by their sum, in place; where all are zero the row of `probs`."""
    sums = values.sum(axis=1, keepdims=True)
    empty = sums[:, 0] < NOTHING
    if empty.any():
        values[empty] = probs[empty]
        sums[empty] = 1
    values /= sums
    return values


def probability_columns(scores: Array, input: Input) -> Iterator[tuple[slice, Floats]]:
    """The columns of `as_probs(scores)`, bit for bit, as rows: (classes, samples) blocks of bounded size."""
    top, total = np.zeros(len(scores)), np.empty(len(scores))
    for block in row_blocks(*scores.shape):
        if input == "logits":
            top[block] = scores[block].max(axis=1)
        total[block] = _unscaled(scores[block], top[block, None], input).sum(axis=1)
    for classes in row_blocks(scores.shape[1], len(scores)):
        yield classes, np.ascontiguousarray((_unscaled(scores[:, classes], top[:, None], input) / total[:, None]).T)


def _unscaled(scores: Array, top: Floats, input: Input) -> Floats:
    rows = np.array(scores, dtype=np.float64, order="C")
    if input == "logits":
        rows -= top
        np.exp(rows, out=rows)
    return rows


def warn_of_changed_predictions(calibrator: BaseCalibrator, scores: Array) -> None:
    """Over many classes a one-vs-rest method can cost accuracy while the calibration errors look fine: say how much."""
    changed = 0
    for block, rows in calibrator.blocks(scores):
        changed += int(np.count_nonzero(rows.argmax(axis=1) != scores[block].argmax(axis=1)))
    share = changed / len(scores)
    if share > CHANGED_SHARE:
        warnings.warn(
            f"{type(calibrator).__name__} changes {share:.1%} of the predictions on its own calibration set;"
            " look at accuracy and NLL beside the calibration error",
            ProxcalWarning,
            stacklevel=4,
        )
