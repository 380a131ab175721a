"""One split: every base calibrator learned from the calibration samples, alone and with proximity, on the test samples.

The neighbours do not depend on the base, so they are sought once: of the calibration samples among themselves, and of
the test samples. They also give the test samples' proximity, by which PIECE and the proximity groups are made.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from proxcal._validation import Array, Bools, Floats, Ints
from proxcal.base._calibrator import joined
from proxcal.bundle import Predictions
from proxcal.informed import INFORMED, Chain
from proxcal.metrics.scores import multiclass_nll
from proxcal.procal import ProCal


@dataclass(frozen=True, eq=False)
class Outcome:
    """What one method said of the test samples, and whether it was right; `row_losses` are those of the whole rows."""

    predicted: Ints
    confidence: Floats
    correct: Bools
    log_proximity: Floats
    row_losses: Floats


@dataclass(frozen=True, eq=False)
class Pair:
    """A base calibrator on the test samples: alone, and with proximity."""

    calibrator: ProCal
    base: Outcome
    ours: Outcome


def informed_name(calibrator: ProCal) -> str:
    """Which informed calibrator it came to, by the name ProCal takes where there is one; of a list, all in turn."""
    informed = calibrator.informed_
    if informed is None:
        return "none"
    names: dict[type[Any], str] = {cls: name for name, cls in INFORMED.items()}
    steps = informed.steps_ if isinstance(informed, Chain) else [informed]
    return " + ".join(names.get(type(step), type(step).__name__) for step in steps)


def run_split(
    calibration: Predictions, test: Predictions, calibrators: Mapping[str, ProCal]
) -> Iterator[tuple[str, Pair]]:
    """For each calibrator, all of one proximity and not yet fitted, its name and what it and its base say; both
    predictions have labels and features."""
    _check_alike(calibration, test)
    y, y_test = np.asarray(calibration.labels), np.asarray(test.labels)
    first = next(iter(calibrators.values()))
    k = max(first.n_neighbors, *(calibrator._n_searched() for calibrator in calibrators.values()))
    neighbors = first._neighbors_of_references(np.asarray(calibration.features), k)
    test_neighbors = first.proximity_.neighbors(np.asarray(test.features), k=neighbors.indices.shape[1])
    for name, calibrator in calibrators.items():
        calibrator.proximity_ = first.proximity_
        calibrator._fit_with(calibration.scores, y, neighbors)
        ours = calibrator._calibrated(test.scores, test_neighbors)
        proximity = np.asarray(ours.log_proximity)
        base = joined(calibrator.base_.blocks(test.scores, test_neighbors), test.scores.shape)
        yield (
            name,
            Pair(
                calibrator,
                _outcome(base, base.argmax(axis=1), base.max(axis=1), y_test, proximity),
                _outcome(ours.probs, ours.predicted, ours.confidence, y_test, proximity),
            ),
        )


def _outcome(probs: Array, predicted: Ints, confidence: Floats, labels: Ints, log_proximity: Floats) -> Outcome:
    losses = multiclass_nll(probs, labels, return_result=True).losses
    return Outcome(predicted, confidence, predicted == labels, log_proximity, losses)


def _check_alike(calibration: Predictions, test: Predictions) -> None:
    if calibration.input != test.input:
        raise ValueError(f"test has {test.input}; calibration has {calibration.input}: give the same kind in both")
    if calibration.n_classes != test.n_classes:
        raise ValueError(f"test has {test.n_classes} classes; calibration has {calibration.n_classes}")
