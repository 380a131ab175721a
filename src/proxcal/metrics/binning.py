"""Who goes into which bin, and what is in it: the one place where samples are binned.

Every binned calibration error is a weighted sum of |accuracy - confidence| over bins; the errors differ only in how the
bins are made. Equal-count bins go by rank, not by quantile values, so that ties and small samples cannot merge or empty
them: a sample of rank r (from 0) among n goes into bin floor(r · n_bins / n).
"""

from dataclasses import dataclass

import numpy as np

from proxcal._validation import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class BinTable:
    """Per-bin count, mean confidence and accuracy. Empty bins hold zeros and weigh nothing."""

    count: Ints
    confidence: Floats
    accuracy: Floats

    @property
    def weight(self) -> Floats:
        weight: Floats = self.count / self.count.sum()
        return weight

    @property
    def gap(self) -> Floats:
        return np.abs(self.accuracy - self.confidence)


def equal_width(values: Floats, n_bins: int) -> Ints:
    """Bins [0, 1/n), ..., [(n-1)/n, 1]: the last is closed, so a value of exactly 1 is counted."""
    edges = equal_width_edges(n_bins)
    edges[-1] = np.inf
    bins = np.minimum((values * n_bins).astype(np.intp), n_bins - 1)
    bins -= values < edges[bins]  # the product may have been rounded over an edge
    bins += values >= edges[bins + 1]
    return bins


def equal_width_edges(n_bins: int) -> Floats:
    return np.arange(n_bins + 1) / n_bins


def equal_count(values: Floats, n_bins: int) -> Ints:
    """Bins by rank, sizes within one of each other; ties keep their order of arrival."""
    bins = np.empty(len(values), dtype=np.intp)
    bins[stable_argsort(values)] = _even(len(values), n_bins)
    return bins


def nested(outer: Floats, inner: Floats, n_outer: int, n_inner: int) -> Ints:
    """Equal-count bins of `outer`, each split into equal-count bins of `inner` (PIECE)."""
    group = equal_count(outer, n_outer)
    order = stable_argsort(inner)
    order = order[np.argsort(group[order].astype(np.min_scalar_type(n_outer)), kind="stable")]  # small integers: fast
    bins = np.empty(len(outer), dtype=np.intp)
    sizes = np.bincount(group, minlength=n_outer).tolist()
    bins[order] = np.concatenate([g * n_inner + _even(size, n_inner) for g, size in enumerate(sizes)])
    return bins


def _even(n: int, n_bins: int) -> Ints:
    """The bins of n samples in ascending order: floor(r · n_bins / n) for r from 0."""
    first = -(-np.arange(n_bins + 1) * n // n_bins)
    return np.repeat(np.arange(n_bins), np.diff(first))


def grid(outer: Floats, inner: Floats, n_outer: int, n_inner: int) -> Ints:
    """Equal-width bins of `outer` crossed with equal-count bins of `inner` over all samples."""
    return equal_width(outer, n_outer) * n_inner + equal_count(inner, n_inner)


def tabulate(bins: Ints, shape: int | tuple[int, ...], confidence: Floats, correct: Bools) -> BinTable:
    """The table of bins 0 to prod(shape) - 1, laid out in `shape`, row by row."""
    n_bins = int(np.prod(shape))
    count = np.bincount(bins, minlength=n_bins)
    size = np.maximum(count, 1)
    return BinTable(
        count=count.reshape(shape),
        confidence=(np.bincount(bins, weights=confidence, minlength=n_bins) / size).reshape(shape),
        accuracy=(np.bincount(bins, weights=correct, minlength=n_bins) / size).reshape(shape),
    )


def observed_edges(values: Floats, bins: Ints, n_bins: int, n_rows: int = 1) -> Floats:
    """Row by row, the lowest value in each bin, then the highest of all: bins by rank have no other edges.

    `bins` counts row by row. An empty bin has width 0.
    """
    row = bins // n_bins
    highest = np.full(n_rows, values.min())
    np.maximum.at(highest, row, values)
    edges = np.repeat(highest, n_bins + 1)
    np.minimum.at(edges, bins + row, values)
    return np.minimum.accumulate(edges.reshape(n_rows, n_bins + 1)[:, ::-1], axis=1)[:, ::-1]


def stable_argsort(values: Floats) -> Ints:
    """argsort(kind="stable"), several times faster: the vectorised sort, then ties put in order of arrival."""
    order = np.argsort(values)
    ascending = values[order]
    step = ascending[1:] != ascending[:-1]
    if step.all():
        return order
    run = np.concatenate(([0], np.cumsum(step)))
    return np.sort(run * len(values) + order) % len(values)
