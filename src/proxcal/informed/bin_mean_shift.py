"""Bin-Mean-Shift: p + λ (A - F) in each (confidence, proximity) bin, A the accuracy and F the mean confidence in it.

Equal-count bins by confidence, each split into equal-count bins by proximity (the paper's section 5.2, eq. 5, λ = 0.5).
Confidences from binning methods come in a few values, so samples are placed by the bins' edges both in `fit` and in
`predict`, and an edge that would part equal values moves to the nearer end of them: samples of equal confidence stay
together, a value that fills several bins is one bin, and the A - F applied is that of the samples it was taken from.

shrinkage="auto" gives each bin the λ that its own noise leaves (empirical Bayes), from coarse bins to fine:

    shift = parent + λ (A - F - parent),    λ = n / (n + 1/τ²)

where the parent is the shift of the coarser bin around it, zero at first, and τ² the spread of true gaps between bins
in units of a sample's variance, as found by Paule and Mandel's estimate at that level. So 300 samples fill few and
large bins with what they know and leave 150 small ones alone, with no number of bins to choose.

Four sums a bin are all that is kept, so batches can be added (`partial_fit`). The edges stay those of the first batch,
which should be a fair sample of some thousand; given the edges, the shifts are those of all samples at once.
"""

from collections.abc import Sequence
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from sklearn.utils.validation import check_is_fitted

from proxcal._validation import Bools, Floats, Ints, check_integer, check_number, check_samples
from proxcal.informed._calibrator import InformedCalibrator

COARSE_LEVELS = ((5, 1), (5, 3))  # confidence × proximity bins, before the finest
REACH = 0.9  # the share of the way to 0 or 1 that a shift may take a confidence, so that no bin makes a certainty


class BinMeanShift(InformedCalibrator):
    """Each confidence shifted by what its bin's confidences were off.

    Parameters
    ----------
    n_bins, n_proximity_bins : at most so many bins by confidence, and in each of them by proximity.
    shrinkage : λ in (0, 1], the same for all bins (0.5 in the paper), or "auto", from each bin's noise. With a fixed λ,
        let bins hold some 50 samples: λ = 1 with ten a bin raises the log loss of most models.
    """

    def __init__(
        self, *, n_bins: int = 15, n_proximity_bins: int = 10, shrinkage: Literal["auto"] | float = "auto"
    ) -> None:
        self.n_bins = n_bins
        self.n_proximity_bins = n_proximity_bins
        self.shrinkage = shrinkage

    def fit(self, confidence: ArrayLike, proximity: ArrayLike, correct: ArrayLike) -> Self:
        self._check_settings()
        samples = check_samples(confidence=confidence, proximity=proximity, correct=correct)
        self._place_edges(*samples[:2])
        return self._add(*samples)

    def partial_fit(self, confidence: ArrayLike, proximity: ArrayLike, correct: ArrayLike) -> Self:
        """Learn from one batch more, in the bins of the first."""
        if not self.__sklearn_is_fitted__():
            return self.fit(confidence, proximity, correct)
        return self._add(*check_samples(confidence=confidence, proximity=proximity, correct=correct))

    def predict(self, confidence: ArrayLike, proximity: ArrayLike) -> Floats:
        check_is_fitted(self)
        p, d = check_samples(confidence=confidence, proximity=proximity)
        shift = self.shift_[self._bins(p, d)]
        if self.shrinkage == "auto":
            shift = np.clip(shift, -REACH * p, REACH * (1 - p))
        shifted: Floats = np.clip(p + shift, 0, 1)
        return shifted

    def _check_settings(self) -> None:
        check_integer("n_bins", self.n_bins, at_least=1)
        check_integer("n_proximity_bins", self.n_proximity_bins, at_least=1)
        if self.shrinkage != "auto":
            check_number('shrinkage, if not "auto",', self.shrinkage, above=0, at_most=1)

    def _place_edges(self, confidence: Floats, proximity: Floats) -> None:
        self.confidence_edges_ = equal_count_edges(confidence, self.n_bins)
        row = np.searchsorted(self.confidence_edges_, confidence, side="right")
        n_rows, n_columns = len(self.confidence_edges_) + 1, self.n_proximity_bins
        self.proximity_edges_ = np.full((n_rows, n_columns - 1), np.inf)
        for i, edges in enumerate(self.proximity_edges_):
            found = equal_count_edges(proximity[row == i], n_columns)
            edges[: len(found)] = found
        self.sums_ = np.zeros((4, n_rows, n_columns))

    def _bins(self, confidence: Floats, proximity: Floats) -> tuple[Ints, Ints]:
        """Row (by confidence) and column (by proximity) of each sample."""
        row = np.searchsorted(self.confidence_edges_, confidence, side="right")
        return row, np.sum(proximity[:, None] >= self.proximity_edges_[row], axis=1)

    def _add(self, confidence: Floats, proximity: Floats, correct: Bools) -> Self:
        """To the sums of each bin: samples, confidence, correct and the variance that the confidence foretells."""
        shape = self.sums_.shape[1:]
        bins = np.ravel_multi_index(self._bins(confidence, proximity), shape)
        parts = np.ones_like(confidence), confidence, correct, confidence * (1 - confidence)
        added = [np.bincount(bins, part, minlength=shape[0] * shape[1]).reshape(shape) for part in parts]
        self.sums_ = self.sums_ + np.array(added)
        self._fit_shifts()
        return self

    def _fit_shifts(self) -> None:
        n_rows, n_columns = self.sums_.shape[1:]
        self.shift_ = np.zeros((n_rows, n_columns))
        for n_wide, n_deep in self._levels(n_rows, n_columns):
            wide, deep = np.arange(n_rows) * n_wide // n_rows, np.arange(n_columns) * n_deep // n_columns
            bins = wide[:, None] * n_deep + deep
            count, sure, right, foretold, moved = _merged(bins, [*self.sums_, self.sums_[0] * self.shift_])
            gap = (right - sure - moved) / np.maximum(count, 1)
            if self.shrinkage == "auto":
                shrinkage = _shrinkage(count, gap, _variance(count, sure + right, foretold))
            else:
                shrinkage = np.full(len(gap), self.shrinkage)
            self.shift_ += (shrinkage * gap)[bins]
        self.count_, self.lambda_ = count.astype(np.intp).reshape(bins.shape), shrinkage.reshape(bins.shape)

    def _levels(self, n_rows: int, n_columns: int) -> list[tuple[int, int]]:
        """Numbers of bins, coarse to fine, each once."""
        coarse = COARSE_LEVELS if self.shrinkage == "auto" else ()
        levels = [(min(wide, n_rows), min(deep, n_columns)) for wide, deep in (*coarse, (n_rows, n_columns))]
        return list(dict.fromkeys(levels))


def equal_count_edges(values: Floats, n_bins: int) -> Floats:
    """The first value of every bin but the lowest: bins of equal count, but equal values never apart."""
    ranked = np.sort(values)
    cut = -(np.arange(1, n_bins) * len(ranked) // -n_bins)  # where rank * n_bins // n steps up
    cut = cut[cut < len(ranked)]
    first, past = (np.searchsorted(ranked, ranked[cut], side=side) for side in ("left", "right"))
    cut = np.unique(np.where(cut - first <= past - cut, first, past))
    return ranked[cut[(cut > 0) & (cut < len(ranked))]]


def _merged(bins: Ints, sums: Sequence[Floats]) -> list[Floats]:
    """Of coarser bins, from sums of the finest."""
    return [np.asarray(np.bincount(bins.ravel(), part.ravel()), dtype=np.float64) for part in sums]


def _variance(count: Floats, sure_and_right: Floats, foretold: Floats) -> Floats:
    """Of one sample's (correct - confidence) in each bin: as the confidence says, and no less than its mean with what
    was seen (a half added) says; a bin without an error is not one without noise."""
    middle = (sure_and_right + 1) / (2 * count + 2)
    variance: Floats = np.maximum(foretold / np.maximum(count, 1), middle * (1 - middle))
    return variance


def _shrinkage(count: Floats, gap: Floats, variance: Floats) -> Floats:
    """λ of each bin. The gaps must spread beyond their noise by a standard deviation of it, or all λ are 0."""
    used = count > 0
    noise, spread = 1 / count[used], gap[used] ** 2 / variance[used]
    excess = used.sum() + np.sqrt(2 * used.sum())  # what Σ spread / noise exceeds by chance one time in six

    def beyond_noise(between: float) -> float:
        return float(np.sum(spread / (noise + between)) - excess)

    if beyond_noise(0) <= 0:
        return np.zeros(len(gap))
    between = float(brentq(beyond_noise, 0, spread.sum()))  # by there the sum is below 1
    shrinkage: Floats = count * between / (count * between + 1)
    return shrinkage
