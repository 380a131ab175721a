"""The references of a fitted ProCal: what is kept of each, how they grow, and how they become fewer.

Beside its features a reference has its label, what the base predicted of it, and how surely: the neighbours' evidence.
"""

from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from proxcal._estimator import Estimator
from proxcal._validation import Array, Floats, Input, Ints, check_features
from proxcal.base import BaseCalibrator
from proxcal.base._bare import check_labelled
from proxcal.base._growth import grown
from proxcal.base._top import Top
from proxcal.informed import Samples, takes_evidence
from proxcal.proximity import Neighbors, Proximity, evidence, log_proximity
from proxcal.proximity.compression import Compression, StoredAs
from proxcal.proximity.coreset import Coreset
from proxcal.proximity.evidence import SIZES


class ReferenceSet(Estimator):
    """The part of ProCal that holds references."""

    base: Any
    informed: Any
    input: Input
    n_neighbors: int
    n_classes_: int
    asked_for_: int | None
    proximity_: Proximity
    base_: BaseCalibrator
    informed_: Any
    reference_labels_: Array
    reference_predictions_: Array
    reference_confidence_: Floats

    def add_references(self, features: ArrayLike, labels: ArrayLike, scores: ArrayLike) -> Self:
        """Take labelled samples as further references: proximity, evidence and votes see them from now on, and what was
        learned from the first ones stays as it is. After `fit_confidence`, confidences and whether each was right."""
        check_is_fitted(self)
        bare = self.asked_for_ is not None
        checked, y = check_labelled(scores, labels, self.input, bare=bare, n_classes=self.n_classes_)
        self._search_kept("add to: add the samples to the calibration set and fit again")
        rows = check_features(features, n_samples=len(y), n_columns=self.proximity_.n_columns)
        self.proximity_, self.base_, top = grown(self.proximity_, self.base_, rows, y, checked, self.asked_for_)
        if hasattr(self, "reference_labels_"):
            self._keep_references(np.concatenate([self.reference_labels_, y]), self._top_so_far.followed_by(top))
        return self

    def compress(
        self,
        *,
        dtype: StoredAs | None = "float16",
        n_components: int | None = None,
        n_references: int | None = None,
        coreset: Coreset = "random",
        random_state: int = 0,
    ) -> Self:
        """The same with its references in less memory (the arguments are `Proximity.compress`'s); this one stays as it
        is. With fewer references the informed step is learned again, from all there were and their neighbours among
        those kept."""
        compression = Compression(dtype, n_components, n_references, coreset, random_state)
        search = self._search_kept("compress")
        smaller = copy(self)
        smaller.proximity_, kept = search.compressed(compression)
        smaller.base_ = copy(self.base_)
        smaller.base_.keep(kept)
        if hasattr(self, "reference_labels_"):
            smaller._keep_references(self.reference_labels_[kept], self._top_so_far.take(kept))
            if n_references is not None and self.informed_ is not None:
                smaller._learn_again(self, kept)
        return smaller

    def _learn_again(self, whole: Self, kept: Ints) -> None:
        """The informed step on all references of `whole`, whose neighbours are now sought among those kept."""
        k = n_searched(None, self.informed_, self.n_neighbors)
        own = np.full(len(whole.proximity_.references_), -1)
        own[kept] = np.arange(len(kept))
        near = self.proximity_.neighbors_of(whole.proximity_, own, k)
        top = whole._top_so_far
        samples = self._samples(top, near, takes_evidence(self.informed_), own)
        self.informed_ = samples.fit(clone(self.informed_, safe=False), top.predicted == whole.reference_labels_)

    @property
    def _top_so_far(self) -> Top:
        """What the base said of the references."""
        return Top(self.reference_confidence_, self.reference_predictions_.astype(np.intp))

    def _search_kept(self, what_for: str) -> Proximity:
        check_is_fitted(self)
        if not hasattr(self, "proximity_"):
            raise ValueError(
                f"base {self.base!r} with informed {self.informed!r} asks for no neighbours, so no references are kept"
                f" to {what_for}"
            )
        return self.proximity_

    def _keep_references(self, labels: Array, top: Top) -> None:
        self.reference_labels_ = labels.astype(np.int32)
        self.reference_predictions_ = top.predicted.astype(np.int32)
        self.reference_confidence_ = top.confidence

    def _found(self, rows: Array | None, k: int) -> Neighbors | None:
        """The k nearest references of checked features, or all where there are fewer."""
        if rows is None:
            return None
        return self.proximity_.neighbors(rows, min(k, self.proximity_.n_references - 1))

    def _samples(self, top: Top, neighbors: Neighbors, with_evidence: bool, own: Ints | None = None) -> Samples:
        """What is known of samples once their neighbours are found; `own`: which references they are, if any."""
        seen = None
        if with_evidence:
            seen = evidence(
                neighbors,
                top.predicted,
                self.reference_labels_,
                self.reference_predictions_,
                self.reference_confidence_,
                own=own,
            )
        return Samples(top.confidence, log_proximity(neighbors.nearest(self.n_neighbors)), seen)


def n_searched(base: BaseCalibrator | None, informed: Any, n_neighbors: int) -> int:
    """How many neighbours are sought: the most that base, proximity and evidence ask for, where they ask for any."""
    for_proximity = 0 if informed is None else n_neighbors
    for_base = 0 if base is None else base.n_searched
    return max(for_base, for_proximity, max(SIZES) if takes_evidence(informed) else 0)
