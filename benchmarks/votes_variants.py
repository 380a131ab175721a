"""What was tried to better neighbour votes: each variant beside the votes as they are.

    python benchmarks/votes_variants.py DATA_FOLDER [--json FILE]

The same files, splits and columns as `quality.py --votes`, where matrix scaling as the votes' z stands too ("SMS +
votes"). All numbers are without an informed step on top.

    no intercept        w₅ = 0
    plain counts        ten and fifty counted, close = exp(−(d/h)²), expected of the ten nearest: as first designed
    prior by frequency  a vote's ⅕ times C π_c, π_c the share of the class: one vote for a rare class says more
    learned K           ten and fifty, or 5 and 25, or 20 and 100: whichever is best on a fifth held out, then all
    diagonal metric     features times the ratio of their spread between classes to that within
    misled less         a reference weighs as the share, shrunk, of those it is a neighbour of that have its label
"""

import argparse
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self
from unittest.mock import patch

import _votes as peers
import numpy as np
import quality

import proxcal as px
from proxcal.base import NeighborVotes, _vote_rows, _votes, neighbor_votes
from proxcal.procal import ProCal
from proxcal.proximity import Neighbors
from proxcal.rows import Calibrated

SIZES = ((10, 50), (5, 25), (20, 100))
MISLED_PRIOR = 10.0  # neighbours, of the mean share


@contextmanager
def changed(**names: Any) -> Iterator[None]:
    """These names of the modules that make votes stand for something else."""
    with ExitStack() as stack:
        for name, value in names.items():
            for module in (_votes, _vote_rows, neighbor_votes):
                if hasattr(module, name):
                    stack.enter_context(patch.object(module, name, value))
        yield


class Variant:
    """Neighbour votes while some names are changed; `changes` are made from the calibration samples."""

    def __init__(self, changes: Callable[[np.ndarray, int], dict[str, Any]]) -> None:
        self.changes = changes

    def fit(self, logits: np.ndarray, labels: np.ndarray, features: np.ndarray) -> Self:
        self.changed = self.changes(labels, logits.shape[1])
        with changed(**self.changed):
            self.votes = votes().fit(logits, labels, features)
        return self

    def calibrate(self, logits: np.ndarray, features: np.ndarray) -> Calibrated:
        with changed(**self.changed):
            return self.votes.calibrate(logits, features)


def votes() -> ProCal:
    return ProCal(base="neighbor-votes", informed=None)


def no_intercept(labels: np.ndarray, n_classes: int) -> dict[str, Any]:
    return {"log_intercept": lambda label_counts, expected_counts: np.zeros_like(label_counts)}


def plain_counts(labels: np.ndarray, n_classes: int, counted: Callable[..., Any] = _votes.counted) -> dict[str, Any]:
    def counts(neighbors: Neighbors, *others: Any) -> list[np.ndarray]:
        near = neighbors.nearest(10)
        ten, fifty, _, _ = counted(Neighbors(np.zeros_like(neighbors.distances), neighbors.indices), *others)
        expected = counted(Neighbors(np.zeros_like(near.distances), near.indices), *others)[3]
        return [ten, fifty, counted(neighbors, *others)[1], expected / 10]

    return {"counted": counts}


def prior_by_frequency(
    labels: np.ndarray, n_classes: int, counted: Callable[..., Any] = _votes.counted
) -> dict[str, Any]:
    share = (np.bincount(labels, minlength=n_classes) + 1) / (len(labels) + n_classes)

    def counts(neighbors: Neighbors, *others: Any) -> list[np.ndarray]:
        weight = np.tile(1 / (n_classes * share), len(neighbors.indices))
        return [count * weight for count in counted(neighbors, *others)]

    return {"counted": counts}


class LearnedK:
    def fit(self, logits: np.ndarray, labels: np.ndarray, features: np.ndarray) -> Self:
        samples = px.Predictions(logits=logits, labels=labels, features=features)
        most, fifth = samples.split(0.8, random_state=0)

        def loss(near: int, far: int) -> float:
            tried = self._of(near, far).fit(most.logits, most.labels, most.features)
            return float(px.multiclass_nll(tried.calibrate(fifth.logits, fifth.features).probs, fifth.labels))

        self.best = self._of(*min(SIZES, key=lambda sizes: loss(*sizes))).fit(logits, labels, features)
        return self

    def calibrate(self, logits: np.ndarray, features: np.ndarray) -> Calibrated:
        return self.best.calibrate(logits, features)

    @staticmethod
    def _of(near: int, far: int) -> Variant:
        return Variant(lambda labels, n_classes: {"NEAR": near, "FAR": far})


class DiagonalMetric:
    def fit(self, logits: np.ndarray, labels: np.ndarray, features: np.ndarray) -> Self:
        rows = features.astype(np.float64)
        counts = np.bincount(labels)
        means = np.stack([np.bincount(labels, column) for column in rows.T], axis=1) / np.maximum(counts, 1)[:, None]
        within = ((rows - means[labels]) ** 2).mean(axis=0)
        self.weights = np.sqrt(means[labels].var(axis=0) / within)
        self.votes = votes().fit(logits, labels, rows * self.weights)
        return self

    def calibrate(self, logits: np.ndarray, features: np.ndarray) -> Calibrated:
        return self.votes.calibrate(logits, features * self.weights)


class MisledLess(NeighborVotes):
    """A weight w of a reference is a longer distance to it: exp(−(d/h)²) w = exp(−(d² − h² log w) / h²). On a
    calibration sample itself, w is that of the others."""

    def _fit_near(self, scores: Any, labels: np.ndarray, neighbors: Neighbors) -> None:
        right = labels[neighbors.indices] == labels[:, None]
        n = len(labels)
        self.asked_ = np.bincount(neighbors.indices.ravel(), minlength=n) + MISLED_PRIOR
        self.right_ = np.bincount(neighbors.indices.ravel(), right.ravel(), minlength=n) + MISLED_PRIOR * right.mean()
        self.h_ = float(np.median(neighbors.distances))
        super()._fit_near(scores, labels, self._moved(neighbors, right, 1))

    def _rows_near(self, scores: Any, neighbors: Neighbors) -> np.ndarray:
        return super()._rows_near(scores, self._moved(neighbors))

    def _moved(self, neighbors: Neighbors, right: Any = 0, own: int = 0) -> Neighbors:
        weight = (self.right_[neighbors.indices] - right) / (self.asked_[neighbors.indices] - own)
        return Neighbors(np.sqrt(neighbors.distances**2 - self.h_**2 * np.log(weight)), neighbors.indices)


def methods() -> dict[str, Callable[[], Any]]:
    return {
        "temperature": lambda: ProCal(informed=None),
        "neighbor-votes": votes,
        "no intercept": lambda: Variant(no_intercept),
        "plain counts": lambda: Variant(plain_counts),
        "prior by frequency": lambda: Variant(prior_by_frequency),
        "learned K": LearnedK,
        "diagonal metric": DiagonalMetric,
        "misled less": lambda: ProCal(base=MisledLess(), informed=None),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    files = sorted(parser.parse_args().data.glob("*.npz"))
    warnings.simplefilter("ignore", px.ProxcalWarning)
    for size in (None, 1000):
        print(f"\n## {size} calibration samples" if size else "\n## half of each file calibrates")
        results = quality.run(files, methods(), size)
        of = {
            column: {n: v[:, :, quality.COLUMNS.index(column)] for n, v in results.items()}
            for column in ("multiclass NLL", "accuracy")
        }
        peers.show_by_file([path.stem for path in files], of["multiclass NLL"], of["accuracy"])


if __name__ == "__main__":
    main()
