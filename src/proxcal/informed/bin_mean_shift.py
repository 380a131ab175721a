"""Bin-Mean-Shift: in each (confidence, proximity) bin, p + λ (A - F), the accuracy A and mean confidence F of its samples.

Equal-count bins by confidence, each split into equal-count bins by proximity (the paper's section 5.2, eq. 5, λ = 0.5).
Confidences from binning methods come in a few values, so samples are placed by the bins' edges both in `fit` and in
`predict`, and an edge that would part equal values moves to the nearer end of them: samples of equal confidence stay
together, a value that fills several bins is one bin, and the A - F applied is that of the samples it was taken from.
"""

from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from proxcal._validation import Bools, Floats, Ints, check_integer, check_number, check_samples
from proxcal.informed._calibrator import InformedCalibrator


class BinMeanShift(InformedCalibrator):
    def __init__(
        self, *, n_bins: int = 15, n_proximity_bins: int = 10, shrinkage: Literal["auto"] | float = "auto"
    ) -> None:
        self.n_bins = n_bins
        self.n_proximity_bins = n_proximity_bins
        self.shrinkage = shrinkage

    def fit(self, confidence: ArrayLike, proximity: ArrayLike, correct: ArrayLike) -> Self:
        n_bins = check_integer("n_bins", self.n_bins, at_least=1)
        n_proximity_bins = check_integer("n_proximity_bins", self.n_proximity_bins, at_least=1)
        p, d, right = check_samples(confidence=confidence, proximity=proximity, correct=correct)
        self.confidence_edges_ = equal_count_edges(p, n_bins)
        outer = np.searchsorted(self.confidence_edges_, p, side="right")
        self.proximity_edges_ = np.full((len(self.confidence_edges_) + 1, n_proximity_bins - 1), np.inf)
        for row, edges in enumerate(self.proximity_edges_):
            found = equal_count_edges(d[outer == row], n_proximity_bins)
            edges[: len(found)] = found
        self.gap_ = np.zeros((len(self.proximity_edges_), n_proximity_bins))
        bins = self._bins(p, d)
        n = np.bincount(bins, minlength=self.gap_.size)
        size = np.maximum(n, 1)
        gap = np.bincount(bins, right - p, minlength=self.gap_.size) / size
        variance = np.bincount(bins, p * (1 - p), minlength=self.gap_.size) / size**2
        if self.shrinkage == "auto":
            lam = _shrinkage(gap, variance, n)
        else:
            lam = check_number("shrinkage", self.shrinkage, above=0, at_most=1)
        self.shift_ = lam * gap
        return self

    def predict(self, confidence: ArrayLike, proximity: ArrayLike) -> Floats:
        check_is_fitted(self)
        p, d = check_samples(confidence=confidence, proximity=proximity)
        return np.clip(p + self.shift_[self._bins(p, d)], 0, 1)

    def _bins(self, confidence: Floats, proximity: Floats) -> Ints:
        outer = np.searchsorted(self.confidence_edges_, confidence, side="right")
        inner = np.sum(proximity[:, None] >= self.proximity_edges_[outer], axis=1)
        return outer * (self.proximity_edges_.shape[1] + 1) + inner


def equal_count_edges(values: Floats, n_bins: int) -> Floats:
    ranked = np.sort(values)
    cut = -(-np.arange(1, n_bins) * len(ranked) // n_bins)
    cut = cut[cut < len(ranked)]
    first, past = (np.searchsorted(ranked, ranked[cut], side=side) for side in ("left", "right"))
    cut = np.unique(np.where(cut - first <= past - cut, first, past))
    return ranked[cut[(cut > 0) & (cut < len(ranked))]]


def _shrinkage(gap: Floats, variance: Floats, n: Ints) -> Floats:
    v = np.maximum(variance, 1e-12)
    w = 1 / v
    k = n > 0
    q = np.sum((w * gap**2)[k])
    tau2 = max(0.0, (q - k.sum()) / w[k].sum())
    return tau2 / (tau2 + v)
