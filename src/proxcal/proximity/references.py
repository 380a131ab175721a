"""Reference rows and what is measured from them: the half of the search that every backend shares.

A backend only finds candidates. ‖a‖² + ‖b‖² − 2ab in float32 or less is noise for near-duplicates, so the distances of
the candidates are measured here in float64, and the nearest of them are the neighbours: distances are right whatever
found them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from proxcal._threads import even_blocks, in_threads
from proxcal._validation import Array, Floats, Ints, blocks_of, row_blocks

_BUFFER = 4096  # columns
_ROOM = 256.0  # of the largest float16, 65 504
CLOSE = 1e-4  # squared distances under this share of the squared norms are taken from differences, not from products


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


def nearest_of_parts(parts: Sequence[Neighbors], k: int) -> Neighbors:
    """The k nearest of those found in each part of the references; of references at the same distance the first."""
    distances = np.concatenate([part.distances for part in parts], axis=1)
    indices = np.concatenate([part.indices for part in parts], axis=1)
    order = np.lexsort((indices, distances), axis=1)[:, :k]
    return Neighbors(np.take_along_axis(distances, order, axis=1), np.take_along_axis(indices, order, axis=1))


@dataclass(frozen=True)
class References:
    """Reference rows as they came, and what each needs to become scale · row: a unit row, or itself where scale is
    1."""

    rows: Array
    scale: Floats
    center: Floats
    half_square: NDArray[np.float32]  # ‖scale · row − center‖² / 2

    @classmethod
    def of(cls, rows: Array, *, unit: bool, factor: float = 1.0) -> "References":
        """Of rows that get unit length, or else are all multiplied by `factor`."""
        scale, center, squares = np.full(len(rows), factor), np.zeros(rows.shape[1]), np.empty(len(rows))
        for block in blocks_of(rows):
            some = in_float64(rows[block])
            squares[block] = square_norms(some)
            if unit:
                scale[block] = _inverse_norms(squares[block])
            center += scale[block] @ some
        center /= len(rows)
        along = np.concatenate([in_float64(rows[block]) @ center for block in blocks_of(rows)])
        half_square = 0.5 * (scale**2 * squares - 2 * scale * along + center @ center)
        return cls(rows, scale, center, half_square.astype(np.float32))

    @property
    def factor(self) -> float:
        """By which all rows are multiplied that do not get unit length."""
        return float(self.scale[0])

    @property
    def longest(self) -> float:
        """A bound of ‖scale · row − center‖."""
        return float(np.sqrt(2 * max(0.0, self.half_square.max())))  # rounded, it may lie below 0

    def part(self, which: slice) -> "References":
        """Some of the references, moved by the mean of all."""
        return References(self.rows[which], self.scale[which], self.center, self.half_square[which])

    def moved(self, which: slice | Ints) -> NDArray[np.float32]:
        """Some of scale · rows − center: their distances are those of the references, their rounding is the least."""
        moved: NDArray[np.float32] = (scaled(self.rows[which], self.scale[which]) - self.center).astype(np.float32)
        return moved


def scale_of(rows: Array, *, unit: bool) -> Floats:
    """What rows are multiplied by: 1, or 1/‖row‖ (and 1 for a row of zeros, which has no direction to keep)."""
    if not unit:
        return np.ones(len(rows))
    squares = np.empty(len(rows))
    for block in blocks_of(rows):
        squares[block] = square_norms(in_float64(rows[block]))
    return _inverse_norms(squares)


def float16_factor(largest: float) -> float:
    """A power of two that brings numbers up to the largest into float16's middle."""
    return float(2.0 ** np.ceil(np.log2(largest / _ROOM))) if largest > 0 else 1.0


def largest_of(rows: Array) -> float:
    """The largest absolute value."""
    return max(max(float(rows[block].max()), -float(rows[block].min())) for block in blocks_of(rows))


def _inverse_norms(squares: Floats) -> Floats:
    return 1 / np.sqrt(np.where(squares > 0, squares, 1))


def in_float64(rows: Array) -> Floats:
    """Each row in one piece, so that its sums are the same to the bit however the array lay in memory."""
    return rows.astype(np.float64, order="C")


def scaled(rows: Array, scale: Floats) -> Floats:
    product: Floats = in_float64(rows) * scale[:, None]
    return product


class Searcher(Protocol):
    """A backend, built of its references."""

    def search(self, rows: Array, scale: Floats, k: int, own: Ints | None) -> Neighbors:
        """The k nearest references of scale · rows; where the rows are references, `own` says which, and no row is its
        own neighbour."""
        ...

    def tune(self, k: int) -> float:
        """The share of the k nearest that are found, measured on a sample where it may be less than 1."""
        ...

    def kept(self) -> dict[str, Array]:
        """What, beside the references, builds the same searcher again; nothing where they alone do."""
        ...


# Of a block of rows, these moved, and own: the indices of k or more references a row, −1 where there are no more.
Candidates = Callable[[slice, Floats, Ints | None], Ints]


def search_in_blocks(
    candidates: Candidates,
    references: References,
    rows: Array,
    scale: Floats,
    k: int,
    own: Ints | None,
    size: int,
    *,
    at_once: bool = False,
) -> Neighbors:
    """The k nearest of the candidates, which are sought for `size` rows at a time, the references' mean taken off;
    with `at_once` for several blocks side by side."""
    distances, indices = np.empty((len(rows), k)), np.empty((len(rows), k), dtype=np.intp)

    def search(block: slice) -> None:
        moved = scaled(rows[block], scale[block]) - references.center
        found = candidates(block, moved, None if own is None else own[block])
        measured, nearest = _measured(rows[block], scale[block], references, found)
        distances[block], indices[block] = measured[:, :k], nearest[:, :k]

    if at_once:
        in_threads(search, even_blocks(len(rows), size))
    else:
        for start in range(0, len(rows), size):
            search(slice(start, min(start + size, len(rows))))
    return Neighbors(distances, indices)


def _measured(rows: Array, scale: Floats, references: References, found: Ints) -> tuple[Floats, Ints]:
    """Float64 distances to the references found, and these, nearest first (by index among equals)."""
    distances = np.full(found.shape, np.inf)

    def measure(block: slice) -> None:
        wanted = slice(1 + np.flatnonzero((found[block] >= 0).any(axis=0))[-1])
        distances[block, wanted] = _distances(scaled(rows[block], scale[block]), references, found[block, wanted])

    in_threads(measure, row_blocks(len(rows), found.shape[1] * rows.shape[1]))
    distances[found < 0] = np.inf
    order = np.lexsort((found, distances), axis=1)
    return np.take_along_axis(distances, order, axis=1), np.take_along_axis(found, order, axis=1)


def _distances(points: Floats, references: References, found: Ints) -> Floats:
    others = in_float64(references.rows[found])
    other_scale = references.scale[found]
    products = dots(others, points[:, None, :]) * other_scale
    norms = square_norms(points)[:, None] + square_norms(others) * other_scale**2
    squares = norms - 2 * products
    i, j = np.nonzero(squares < CLOSE * norms)  # here the subtraction has cancelled
    squares[i, j] = square_norms(others[i, j] * other_scale[i, j, None] - points[i])
    distances: Floats = np.sqrt(squares)
    return distances


def square_norms(rows: Floats) -> Floats:
    return dots(rows, rows)


def dots(rows: Floats, others: Floats) -> Floats:
    """Inner products along the last axis, each the same to the bit whatever else is computed beside it.

    So einsum and not BLAS; and no more columns at once than its buffer holds, which it would cut anywhere.
    """
    if rows.shape[-1] <= _BUFFER:
        products: Floats = np.einsum("...j,...j->...", rows, others)
        return products
    return dots(rows[..., :_BUFFER], others[..., :_BUFFER]) + dots(rows[..., _BUFFER:], others[..., _BUFFER:])
