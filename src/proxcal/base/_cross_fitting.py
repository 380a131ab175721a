"""What a base says of calibration samples that it did not learn from: fitted anew without each fold.

A base that fits single values closely (one-vs-rest histograms and step functions) is far too sure of its own
calibration samples: with 100 classes they all look right. Whoever judges or corrects it must see it as new samples
will.
"""

import warnings
from collections.abc import Iterator

import numpy as np
from sklearn.base import clone

from proxcal._held_out import assign_folds
from proxcal._validation import Array, Floats, Ints, ProxcalWarning, take_rows
from proxcal.base._calibrator import BaseCalibrator

N_FOLDS = 5  # ten gave the same on six real sets, for twice the time


def held_out_blocks(
    base: BaseCalibrator, scores: Array, labels: Ints, random_state: int
) -> Iterator[tuple[Ints, Floats]]:
    """Blocks of rows, each with the places of its samples, by copies of a base that needs no neighbours."""
    folds = assign_folds(len(labels), random_state, N_FOLDS)
    for fold in range(int(folds.max()) + 1):
        inside, rest = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ProxcalWarning)  # of one fold; the fit on all samples says its own
            fitted = clone(base).fit_with(take_rows(scores, rest), labels[rest])
        for block, rows in fitted.blocks(take_rows(scores, inside)):
            yield inside[block], rows
