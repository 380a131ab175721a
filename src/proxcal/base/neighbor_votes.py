"""Neighbour votes: the references found for proximity carry labels; let them vote on the row.

    logits = w₀ z/T + w₁ log(ten + ⅕) + w₂ log(fifty + ⅕) + w₃ log(close + ⅕) + w₄ log(expected + ⅕) + w₅ b

The four votes are `_votes.py`'s. b is a shrunk intercept a class, log((labels + 20) / (expected + 20)) counted over all
references: the same comparison of what came with what the model expected, at the widest neighbourhood there is. T is
temperature scaling's, and the six weights are learned by log loss with a ridge towards (1, 0, 0, 0, 0, 0), which is
temperature scaling; w₁, w₂, w₃ and w₅ are 0 or more (`_vote_weights.py`). They have to earn their place: of a held-out
gain G with standard error S, the share (G − gate · S) / G of the way is gone, so a gain within its noise changes
nothing (where samples are few, a larger gate).

Predictions change: that is the point, and `accuracy_change_` says what it did to held-out accuracy. A calibration
sample has no vote on itself, neither as a neighbour nor in b.
"""

import numpy as np

from proxcal._held_out import assign_folds
from proxcal._validation import Array, Floats, Input, Ints, blocks_of, check_number, row_blocks
from proxcal.base._calibrator import as_logits, softmax
from proxcal.base._neighbor import NeighborCalibrator
from proxcal.base._softmax_rows import SoftmaxRows
from proxcal.base._vote_rows import VoteRows, log_intercept, scaled
from proxcal.base._vote_weights import fit_weights
from proxcal.base._votes import FAR, References, columns, counted, n_temporary, touched
from proxcal.base.temperature import fit_temperature
from proxcal.proximity import Neighbors, Proximity

_BLOCK_BYTES = 1 << 20


class NeighborVotes(NeighborCalibrator):
    """Rows of temperature scaling on which the labels of the nearest references vote. Predictions may change.

    Parameters
    ----------
    proximity : the search of its own when used alone, `Proximity()` unless given; within ProCal that one's is used.
    gate : how many standard errors of the gain in held-out log loss are not believed; of n samples, gate · (1 + 200/n).
    random_state : draws the folds of the cross-validation.

    Learns `temperature_`, `weights_` (of z/T, ten, fifty, close, expected and the intercept), `share_` (how far they go
    from temperature scaling towards the best weights; 0: not at all), `strength_` (of the ridge), `bandwidth_` (h), and
    `accuracy_change_`: on held-out folds, the `change` of accuracy against temperature scaling, `low` and `high` of its
    95 % interval, and the share of predictions `changed`.

    >>> rng = np.random.default_rng(0)
    >>> features = rng.normal(size=(600, 4))
    >>> labels = features[:, :3].argmax(axis=1)
    >>> logits = features[:, :3] + rng.normal(size=(600, 3))
    >>> calibrator = NeighborVotes().fit(logits[:400], labels[:400], features[:400])
    >>> before, after = logits[400:].argmax(axis=1), calibrator.predict(logits[400:], features[400:])
    >>> print(f"{(before == labels[400:]).mean():.2f} -> {(after == labels[400:]).mean():.2f}")
    0.67 -> 0.94
    """

    def __init__(
        self,
        *,
        proximity: Proximity | None = None,
        gate: float = 0.5,
        random_state: int = 0,
        input: Input = "logits",
    ) -> None:
        self.proximity = proximity
        self.gate = gate
        self.random_state = random_state
        self.input = input

    @property
    def n_searched(self) -> int:
        return FAR

    def _fit_near(self, scores: Array, labels: Ints, neighbors: Neighbors) -> None:
        check_number("gate", self.gate, at_least=0)
        self.temperature_ = fit_temperature(SoftmaxRows.of(scores, labels, self.input))
        self.bandwidth_ = float(np.median(neighbors.nearest(FAR).distances))
        self.label_counts_, self.expected_counts_ = np.zeros((2, scores.shape[1]))
        self._keep([], scores, labels)
        rows = VoteRows(
            scores, self.input, self.temperature_, labels, neighbors, self._references, self.bandwidth_,
            self.label_counts_, self.expected_counts_, assign_folds(len(labels), self.random_state),
        )  # fmt: skip
        found = fit_weights(rows, self.gate)
        self.weights_, self.strength_, self.share_ = found.weights, found.strength, found.share
        self.accuracy_change_ = found.accuracy_change

    def remember(self, scores: Array, labels: Ints) -> None:
        self._keep([self._references], scores, labels)

    def _keep(self, so_far: list[References], scores: Array, labels: Ints) -> None:
        parts, expected = list(so_far), self.expected_counts_.copy()
        for block in blocks_of(scores):
            rows = softmax(as_logits(scores[block], self.input), 1 / self.temperature_)
            parts.append(References.of(labels[block], rows))
            expected += rows.sum(axis=0)
        self._hold(References.joined(parts))
        self.label_counts_ = self.label_counts_ + np.bincount(labels, minlength=scores.shape[1])
        self.expected_counts_ = expected

    def keep(self, which: Ints) -> None:
        self._hold(self._references.take(which))

    def _hold(self, references: References) -> None:
        self.reference_labels_, self.reference_classes_ = references.labels, references.classes
        self.reference_probs_ = references.probs

    @property
    def _references(self) -> References:
        return References(self.reference_labels_, self.reference_classes_, self.reference_probs_)

    def _rows_near(self, scores: Array, neighbors: Neighbors) -> Floats:
        if self.share_ == 0:
            return softmax(as_logits(scores, self.input), 1 / self.temperature_)
        intercept = log_intercept(self.label_counts_, self.expected_counts_)
        rows = np.empty(scores.shape)
        for part in row_blocks(len(scores), n_temporary(scores.shape[1]), _BLOCK_BYTES):
            counts = counted(neighbors.take(part), self._references, self.bandwidth_, scores.shape[1])
            places = touched(counts)
            logits = scaled(scores[part], self.input, self.temperature_)
            logits *= self.weights_[0]
            logits += self.weights_[-1] * intercept
            for weight, column in zip(self.weights_[1:-1], columns(counts, places), strict=True):
                logits.reshape(-1)[places] += weight * column
            rows[part] = softmax(logits)
        return rows
