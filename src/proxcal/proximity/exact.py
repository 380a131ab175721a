"""Exact nearest neighbours at the speed of a matrix product.

For a fixed query a, ‖a − b‖² orders the references b as ‖b‖²/2 − a·b does: one float32 product a block, whose
temporaries are bounded by the block and never n × m. Three things keep it right:

- Features that lie far from the origin would drown their differences in float32. The order does not change when both
  sides are moved by the mean μ, and (a − μ)·b differs from (a − μ)·(b − μ) by a constant of the query: so only the
  small block of queries is moved, and the references are used as they lie, uncopied.
- ‖a‖² + ‖b‖² − 2ab in float32 is noise for near-duplicates, so the distances of the K winners are measured again in
  float64.
- A sample is left out of its own neighbours by its index, never by its distance: duplicates are neighbours.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from proxcal._validation import Array, Floats, Ints, row_blocks

_TILE = 1 << 15  # references a product: bounds the block of keys
_CLOSE = 1e-4  # squared distances under this share of the squared norms are taken from differences, not from products


@dataclass(frozen=True)
class Neighbors:
    """The k nearest references of each sample, nearest first: `distances` and `indices`, both (n, k)."""

    distances: Floats
    indices: Ints

    def nearest(self, k: int) -> "Neighbors":
        return Neighbors(self.distances[:, :k], self.indices[:, :k])

    def take(self, which: Ints | slice) -> "Neighbors":
        """Those of some of the samples."""
        return Neighbors(self.distances[which], self.indices[which])

    def without(self, own: Ints) -> "Neighbors":
        """One neighbour fewer of each sample: itself, by its index, or the farthest where it is not among them."""
        kept = self.indices != own[:, None]
        kept[kept.all(axis=1), -1] = False
        shape = (len(kept), -1)
        return Neighbors(self.distances[kept].reshape(shape), self.indices[kept].reshape(shape))


@dataclass(frozen=True)
class References:
    """Reference rows as they came, and what each needs to become scale · row: a unit row, or itself where scale is
    1."""

    rows: Array
    scale: Floats
    center: Floats
    half_square: NDArray[np.float32]  # ‖scale · row − center‖² / 2

    @classmethod
    def of(cls, rows: Array, *, unit: bool) -> "References":
        scale, center, squares = np.ones(len(rows)), np.zeros(rows.shape[1]), np.empty(len(rows))
        for block in row_blocks(*rows.shape):
            some = rows[block].astype(np.float64)
            squares[block] = _square_norms(some)
            if unit:
                scale[block] = _inverse_norms(squares[block])
            center += scale[block] @ some
        center /= len(rows)
        along = np.concatenate([rows[block].astype(np.float64) @ center for block in row_blocks(*rows.shape)])
        half_square = 0.5 * (scale**2 * squares - 2 * scale * along + center @ center)
        return cls(rows, scale, center, half_square.astype(np.float32))


def inverse_norms(rows: Array) -> Floats:
    """1/‖row‖, and 1 for a row of zeros, which has no direction to keep."""
    squares = np.empty(len(rows))
    for block in row_blocks(*rows.shape):
        squares[block] = _square_norms(rows[block].astype(np.float64))
    return _inverse_norms(squares)


def _inverse_norms(squares: Floats) -> Floats:
    return 1 / np.sqrt(np.where(squares > 0, squares, 1))


def scaled(rows: Array, scale: Floats) -> Floats:
    product: Floats = rows.astype(np.float64) * scale[:, None]
    return product


def search(
    queries: Array, scale: Floats, references: References, k: int, *, chunk_size: int, leave_out_self: bool
) -> Neighbors:
    """The k nearest references of scale · queries; with `leave_out_self` the queries are the references themselves."""
    distances, indices = np.empty((len(queries), k)), np.empty((len(queries), k), dtype=np.intp)
    for start in range(0, len(queries), chunk_size):
        block = slice(start, min(start + chunk_size, len(queries)))
        rows, row_scale = queries[block], scale[block]
        left_out = np.arange(block.start, block.stop) if leave_out_self else None
        moved = (scaled(rows, row_scale) - references.center).astype(np.float32)
        found = _candidates(moved, references, k, left_out)
        distances[block], indices[block] = _measured(rows, row_scale, references, found)
    return Neighbors(distances, indices)


def _candidates(moved: NDArray[np.float32], references: References, k: int, left_out: Ints | None) -> Ints:
    """Indices of the k references with the smallest ‖b‖²/2 − a·b, in no order."""
    best_keys: Array = np.empty((len(moved), 0), dtype=np.float32)
    best: Ints = np.empty((len(moved), 0), dtype=np.intp)
    for start in range(0, len(references.rows), _TILE):
        tile = slice(start, min(start + _TILE, len(references.rows)))
        keys = moved @ np.asarray(references.rows[tile], dtype=np.float32).T
        keys *= -references.scale[tile].astype(np.float32)
        keys += references.half_square[tile]
        if left_out is not None:
            inside = np.flatnonzero((left_out >= tile.start) & (left_out < tile.stop))
            keys[inside, left_out[inside] - tile.start] = np.inf
        columns = _smallest(keys, k)
        best_keys = np.concatenate([best_keys, np.take_along_axis(keys, columns, axis=1)], axis=1)
        best = np.concatenate([best, columns + tile.start], axis=1)
        if best.shape[1] > k:
            kept = np.argpartition(best_keys, k - 1, axis=1)[:, :k]
            best_keys, best = np.take_along_axis(best_keys, kept, axis=1), np.take_along_axis(best, kept, axis=1)
    return best


def _smallest(keys: Array, k: int) -> Ints:
    """Columns of the k smallest keys of each row, in no order.

    Columns are dealt into groups; the k groups with the smallest minima hold the k smallest keys. So all keys are read
    once, by a minimum that runs at memory speed, and only √(mk) of m are ever partitioned.
    """
    n, m = keys.shape
    size = int(np.sqrt(m / k))
    n_groups = m // max(size, 1)
    if size < 2:
        return np.argpartition(keys, k - 1, axis=1)[:, :k] if k < m else np.tile(np.arange(m), (n, 1))
    minima = keys[:, : size * n_groups].reshape(n, size, n_groups).min(axis=1)
    groups = np.argpartition(minima, k - 1, axis=1)[:, :k]
    members = (groups[:, :, None] + np.arange(size) * n_groups).reshape(n, -1)
    rest = np.arange(size * n_groups, m)  # what the deal left over
    members = np.concatenate([members, np.broadcast_to(rest, (n, len(rest)))], axis=1)
    chosen = np.argpartition(np.take_along_axis(keys, members, axis=1), k - 1, axis=1)[:, :k]
    return np.take_along_axis(members, chosen, axis=1)


def _measured(rows: Array, scale: Floats, references: References, found: Ints) -> tuple[Floats, Ints]:
    """Float64 distances to the references found, and these, nearest first (by index among equals)."""
    distances = np.empty(found.shape)

    def measure(block: slice) -> None:
        distances[block] = _distances(scaled(rows[block], scale[block]), references, found[block])

    _in_threads(measure, row_blocks(len(rows), found.shape[1] * rows.shape[1]))
    order = np.lexsort((found, distances), axis=1)
    return np.take_along_axis(distances, order, axis=1), np.take_along_axis(found, order, axis=1)


def _distances(points: Floats, references: References, found: Ints) -> Floats:
    others = references.rows[found].astype(np.float64)
    other_scale = references.scale[found]
    products = np.matmul(others, points[:, :, None])[:, :, 0] * other_scale
    norms = _square_norms(points)[:, None] + _square_norms(others) * other_scale**2
    squares = norms - 2 * products
    i, j = np.nonzero(squares < _CLOSE * norms)  # here the subtraction has cancelled
    squares[i, j] = _square_norms(others[i, j] * other_scale[i, j, None] - points[i])
    distances: Floats = np.sqrt(squares)
    return distances


def _square_norms(rows: Floats) -> Floats:
    squares: Floats = np.einsum("...j,...j->...", rows, rows)
    return squares


def _in_threads(work: Callable[[slice], None], blocks: Iterator[slice]) -> None:
    """NumPy lets go of the interpreter lock, and each block writes its own rows: the result does not depend on the
    order."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for _ in pool.map(work, blocks):
            pass
