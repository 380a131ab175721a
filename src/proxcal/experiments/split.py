"""One split: every base calibrator learned from the calibration samples, alone and with proximity, on the test samples.

The neighbours do not depend on the base, so they are sought once: of the calibration samples among themselves, and of
the test samples. They also give the test samples' proximity, by which PIECE and the proximity groups are made.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from proxcal._validation import Array, Bools, Floats, Ints, large_blocks
from proxcal.base._calibrator import joined
from proxcal.bundle import Predictions
from proxcal.informed import INFORMED, Chain
from proxcal.metrics.scores import multiclass_nll
from proxcal.procal import ProCal
from proxcal.proximity import Neighbors, Proximity


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
    """For each calibrator, not yet fitted, its name and what it and its base say; all are of one proximity, but for
    the number of neighbours. Both predictions have labels and features."""
    check_alike(calibration, test)
    search, neighbors = search_for(calibrators, calibration)
    test_neighbors = search.neighbors(np.asarray(test.features), k=neighbors.indices.shape[1])
    for name, calibrator in calibrators.items():
        fit_found(calibrator, calibration, search, neighbors)
        yield name, pair_of(calibrator, test, test_neighbors)


def search_for(calibrators: Mapping[str, ProCal], calibration: Predictions) -> tuple[Proximity, Neighbors]:
    """The search among the calibration samples, and as many neighbours of each as any of the calibrators asks for."""
    first = next(iter(calibrators.values()))
    k = max(max(each.n_neighbors, each._n_searched()) for each in calibrators.values())
    neighbors = first._neighbors_of_references(np.asarray(calibration.features), k)
    return first.proximity_, neighbors


def fit_found(calibrator: ProCal, calibration: Predictions, search: Proximity, neighbors: Neighbors) -> None:
    """Fit where the neighbours have been found."""
    calibrator.proximity_ = search
    calibrator._fit_with(calibration.scores, np.asarray(calibration.labels), neighbors)


def pair_of(calibrator: ProCal, test: Predictions, neighbors: Neighbors) -> Pair:
    """What a fitted calibrator and its base say of test samples, whose neighbours have been found."""
    return Pair(calibrator, *_outcomes(calibrator, test.scores, neighbors, np.asarray(test.labels)))


def _outcomes(calibrator: ProCal, scores: Array, neighbors: Neighbors, labels: Ints) -> tuple[Outcome, Outcome]:
    """Of the base alone and with proximity, found a block of samples at a time, as rows are large."""
    base: list[Outcome] = []
    ours: list[Outcome] = []
    for block in large_blocks(scores, scores.shape[1]):
        some, near, y = scores[block], neighbors.take(block), labels[block]
        said = calibrator._calibrated(some, near)
        probs = joined(calibrator.base_.blocks(some, near), some.shape)
        proximity = np.asarray(said.log_proximity)
        base.append(_outcome(probs, probs.argmax(axis=1), probs.max(axis=1), y, proximity))
        ours.append(_outcome(said.probs, said.predicted, said.confidence, y, proximity))
    return _joined(base), _joined(ours)


def _joined(parts: Sequence[Outcome]) -> Outcome:
    return Outcome(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(Outcome)))


def _outcome(probs: Array, predicted: Ints, confidence: Floats, labels: Ints, log_proximity: Floats) -> Outcome:
    losses = multiclass_nll(probs, labels, return_result=True).losses
    return Outcome(predicted, confidence, predicted == labels, log_proximity, losses)


def check_alike(calibration: Predictions, test: Predictions) -> None:
    if calibration.input != test.input:
        raise ValueError(f"test has {test.input}; calibration has {calibration.input}: give the same kind in both")
    if calibration.n_classes != test.n_classes:
        raise ValueError(f"test has {test.n_classes} classes; calibration has {calibration.n_classes}")
