"""Histogram binning (Zadrozny & Elkan 2001), one class against the rest.

Each class's probability is replaced by the share of that class among the calibration samples of the same bin, and the
rows are made to sum to 1. A bin nobody fell into, and every bin of a class that the calibration set lacks, keeps the
class's own probability; a row of zeros stays as the model gave it.

Only counts are kept, so batches can be added (`partial_fit`). Bins of equal width are the same for all samples, so the
result is that of one fit, bit for bit. Bins of equal count stay those of the first batch: let it be a fair sample.
"""

from typing import Literal

import numpy as np

from proxcal._validation import Array, Floats, Input, Ints, check_choice, check_integer, row_blocks
from proxcal.base._calibrator import as_probs
from proxcal.base._one_vs_rest import probability_columns, rows_to_one, warn_of_changed_predictions
from proxcal.base._streaming import StreamingCalibrator


class HistogramBinning(StreamingCalibrator):
    """`n_bins` bins a class: "uniform" (equal width) or "quantile" (equal count of the class's own probabilities).

    Learns `values_` (classes, bins), NaN where the class's own probability is kept; `count_`, how many samples each bin
    has, and `hits_`, how many of the class; for "quantile" `edges_`.
    """

    fits_closely = True
    sums = ("count_", "hits_")

    def __init__(
        self, *, n_bins: int = 15, strategy: Literal["uniform", "quantile"] = "uniform", input: Input = "logits"
    ) -> None:
        self.n_bins = n_bins
        self.strategy = strategy
        self.input = input

    def _fit(self, scores: Array, labels: Ints) -> None:
        self._begin(scores, labels)
        self._extend(scores, labels)

    def _begin(self, scores: Array, labels: Ints) -> None:
        check_integer("n_bins", self.n_bins, at_least=1)
        check_choice("strategy", self.strategy, ("uniform", "quantile"))
        self.edges_ = _equal_count_edges(scores, self.input, self.n_bins) if self.strategy == "quantile" else None
        self.count_, self.hits_ = np.zeros((2, scores.shape[1], self.n_bins), dtype=np.intp)

    def _extend(self, scores: Array, labels: Ints) -> None:
        shape, size = self.count_.shape, self.count_.size
        for block in row_blocks(*scores.shape):
            cells = self._cells(as_probs(scores[block], self.input))
            own = cells[np.arange(len(cells)), labels[block]]
            self.count_ = self.count_ + np.bincount(cells.ravel(), minlength=size).reshape(shape)
            self.hits_ = self.hits_ + np.bincount(own, minlength=size).reshape(shape)
        self.values_ = _shares(self.hits_, self.count_)
        warn_of_changed_predictions(self, scores)

    def _rows(self, scores: Array) -> Floats:
        probs = as_probs(scores, self.input)
        values = np.take(self.values_, self._cells(probs))
        np.copyto(values, probs, where=np.isnan(values))
        return rows_to_one(values, probs)

    def _cells(self, probs: Floats) -> Ints:
        """Each probability's place in the (classes, bins) table, laid flat."""
        n_classes = probs.shape[1]
        if self.edges_ is None:
            bins = np.minimum((probs * self.n_bins).astype(np.intp), self.n_bins - 1)
        else:
            bins = np.zeros(probs.shape, dtype=np.intp)
            for edge in self.edges_:
                bins += probs >= edge
        bins += np.arange(n_classes) * self.n_bins
        return bins


def _equal_count_edges(scores: Array, input: Input, n_bins: int) -> Floats:
    """(bins − 1, classes): the probability at which each bin but the first begins."""
    n, n_classes = scores.shape
    ranks = np.arange(1, n_bins) * n // n_bins
    edges = np.empty((n_bins - 1, n_classes))
    for classes, columns in probability_columns(scores, input):
        columns.sort(axis=1)
        edges[:, classes] = columns[:, ranks].T
    return edges


def _shares(hits: Ints, count: Ints) -> Floats:
    """hits / count, NaN for empty bins and for classes without a hit."""
    known = (count > 0) & hits.any(axis=1, keepdims=True)
    shares = np.full(hits.shape, np.nan)
    shares[known] = hits[known] / count[known]
    return shares
