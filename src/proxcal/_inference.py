"""What a fitted ProCal says of samples: one search, then base, informed step and rows.

Fitting learns from the references and keeps them; here nothing is learned and nothing kept.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from proxcal._mapped import release
from proxcal._reference_set import ReferenceSet, n_searched
from proxcal._threads import in_threads
from proxcal._validation import (
    Array,
    Floats,
    Ints,
    check_features,
    check_samples,
    check_scores,
    large_blocks,
    row_blocks,
)
from proxcal.base._bare import NO_ROWS, rows_of
from proxcal.base._calibrator import stored
from proxcal.base._top import Top
from proxcal.informed import takes_evidence
from proxcal.proximity import Neighbors, log_proximity
from proxcal.rows import Calibrated, Mode, rebuild

_COLUMNS_A_NEIGHBOR = 8  # as much memory as so many columns: its distance, its index, and its evidence


class Inference(ReferenceSet):
    """The part of ProCal that answers once it is fitted."""

    rows: Mode
    exponent_: float

    def confidence(self, scores: ArrayLike, features: ArrayLike | None = None) -> Floats:
        """The probability that each prediction is right, (n,); after `fit_confidence`, of confidences in place of
        scores."""
        checked, neighbors = self._check(scores, features, want_rows=False)
        if self.rows != "keep" and self.asked_for_ is None:
            return self._calibrated(checked, neighbors).confidence
        return self._informed_confidence(self._top(checked, neighbors), neighbors)

    def predict_proba(self, scores: ArrayLike, features: ArrayLike | None = None) -> Floats:
        """Rows that sum to 1, (n, C); the predicted class has the confidence above."""
        return self._calibrated(*self._check(scores, features)).probs

    def predict(self, scores: ArrayLike, features: ArrayLike | None = None) -> Ints:
        """The class with the largest probability, (n,); with rows="keep" the base's, which may need no features."""
        if self.rows != "keep":
            return self._calibrated(*self._check(scores, features)).predicted
        check_is_fitted(self)
        return self._top(*self._check(scores, features, self.base_.n_searched)).predicted

    def calibrate(self, scores: ArrayLike, features: ArrayLike | None = None) -> Calibrated:
        """Rows, predictions, their confidence and, where features are given, proximity: all from one search."""
        checked, rows, k = self._checked(scores, features, for_proximity=True)
        return self._calibrated(checked, self._found(rows, k))

    def calibrate_blocks(
        self, scores: ArrayLike, features: ArrayLike | None = None
    ) -> Iterator[tuple[slice, Calibrated]]:
        """What `calibrate` says of one block of samples after the other, the same to the bit where the search is exact:
        for arrays of a file, of any length, of which no more than a block is then in memory."""
        checked, rows, k = self._checked(scores, features, for_proximity=True)
        beside = 0 if rows is None else rows.shape[1] + _COLUMNS_A_NEIGHBOR * k
        for block in large_blocks(checked, beside):
            yield block, self._calibrated(checked[block], self._found(None if rows is None else rows[block], k))
            if rows is not None:
                release(rows)

    def _calibrated(self, scores: Array, neighbors: Neighbors | None) -> Calibrated:
        """The same on checked scores and neighbours already found."""
        probs: Floats = np.empty(scores.shape)
        top = Top.of(stored(self.base_.blocks(scores, neighbors), probs), len(scores))
        proximity = None if neighbors is None else log_proximity(neighbors.nearest(self.n_neighbors))
        if neighbors is None or self.informed_ is None:
            return Calibrated(probs, top.predicted, top.confidence, proximity)
        confidence = self._informed_confidence(top, neighbors)

        def put(block: slice) -> None:
            probs[block] = rebuild(probs[block], confidence[block], self.exponent_, self.rows)

        in_threads(put, row_blocks(*probs.shape))
        if self.rows == "keep":
            return Calibrated(probs, top.predicted, confidence, proximity)
        after = Top.of(((block, probs[block]) for block in row_blocks(*probs.shape)), len(probs))
        overtaken = after.predicted != top.predicted
        return Calibrated(probs, after.predicted, np.where(overtaken, after.confidence, confidence), proximity)

    def _top(self, scores: Array, neighbors: Neighbors | None) -> Top:
        return Top.of(self.base_.blocks(scores, neighbors), len(scores), self.asked_for_)

    def _informed_confidence(self, top: Top, neighbors: Neighbors | None) -> Floats:
        if self.informed_ is None or neighbors is None:
            return top.confidence
        samples = self._samples(top, neighbors, takes_evidence(self.informed_))
        confidence = np.empty(len(top.confidence))
        for block in row_blocks(len(confidence), self.n_classes_):  # the same whatever part of the samples is asked for
            (confidence[block],) = check_samples(confidence=samples.take(block).predict(self.informed_))
        return confidence

    def _check(
        self, scores: ArrayLike, features: ArrayLike | None, k: int | None = None, *, want_rows: bool = True
    ) -> tuple[Array, Neighbors | None]:
        """The scores, checked, and the k nearest references: as many as what was fitted asks for, unless told."""
        checked, rows, k = self._checked(scores, features, k, want_rows=want_rows)
        return checked, self._found(rows, k)

    def _checked(
        self,
        scores: ArrayLike,
        features: ArrayLike | None,
        k: int | None = None,
        *,
        want_rows: bool = True,
        for_proximity: bool = False,
    ) -> tuple[Array, Array | None, int]:
        """Scores and, where neighbours are asked for, features; and how many are. `for_proximity` asks for them where
        there are features, even if nothing else does."""
        check_is_fitted(self)
        if self.asked_for_ is None:
            checked = check_scores(scores, self.input, n_classes=self.n_classes_)
        elif want_rows:
            raise ValueError(NO_ROWS)
        else:
            checked = rows_of(scores, self.input)
        k = n_searched(self.base_, self.informed_, self.n_neighbors) if k is None else k
        if k == 0 and for_proximity and features is not None and hasattr(self, "proximity_"):
            k = self.n_neighbors
        if k == 0:
            return checked, None, 0
        return checked, check_features(features, n_samples=len(checked), n_columns=self.proximity_.n_columns), k
