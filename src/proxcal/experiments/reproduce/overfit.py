"""The paper's figure of overfitting: by how much training accuracy exceeds held-out accuracy, by proximity."""

from typing import NamedTuple

import numpy as np

from proxcal._validation import Bools
from proxcal.bias import overfitting_by_proximity
from proxcal.bias.overfitting import OverfittingByProximity
from proxcal.bundle import Predictions
from proxcal.experiments.reproduce.printed import printed_gaps
from proxcal.experiments.reproduce.protocols import N_GROUPS
from proxcal.experiments.reproduce.run import Run
from proxcal.proximity import Proximity


class GroupRow(NamedTuple):
    """A group by proximity, the lowest first: how many samples, accuracies and their gap with its 95 % interval, in
    points, and the paper's gap."""

    group: int
    n_train: int
    n_held_out: int
    train_accuracy: float
    held_out_accuracy: float
    gap: float
    gap_low: float
    gap_high: float
    paper_gap: str | None


def measure_overfitting(run: Run) -> tuple[list[GroupRow], OverfittingByProximity]:
    held_out, train = run.inputs.only("predictions"), run.inputs.only("train")
    run.progress(0, 1, "searching")
    proximity = Proximity(normalize=run.own_settings).fit(np.asarray(held_out.features))
    found = overfitting_by_proximity(
        _correct(train),
        proximity.log_score(np.asarray(train.features)),
        _correct(held_out),
        proximity.log_score(),
        N_GROUPS,
    )
    return [_row(found, group) for group in range(N_GROUPS)], found


def _correct(predictions: Predictions) -> Bools:
    correct: Bools = predictions.scores.argmax(axis=1) == predictions.labels
    return correct


def _row(found: OverfittingByProximity, group: int) -> GroupRow:
    ends = {0: "lowest", N_GROUPS - 1: "highest"}
    return GroupRow(
        group=1 + group,
        n_train=int(found.train_count[group]),
        n_held_out=int(found.count[group]),
        train_accuracy=100 * float(found.train_accuracy[group]),
        held_out_accuracy=100 * float(found.accuracy[group]),
        gap=100 * float(found.gap[group]),
        gap_low=100 * float(found.gap_low[group]),
        gap_high=100 * float(found.gap_high[group]),
        paper_gap=printed_gaps().get(ends.get(group, "")),
    )
