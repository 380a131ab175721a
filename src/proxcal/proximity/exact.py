"""Exact nearest neighbours at the speed of a matrix product.

For a fixed query a, ‖a − b‖² orders the references b as ‖b‖²/2 − a·b does: one float32 product a block, whose
temporaries are bounded by the block and never n × m. This keeps it right:

- Features that lie far from the origin would drown their differences in float32. The order does not change when both
  sides are moved by the mean μ, and (a − μ)·b differs from (a − μ)·(b − μ) by a constant of the query: so only the
  small block of queries is moved, and the references are used as they lie, uncopied.
- Near-duplicates in heaps, and features far longer than they differ, have keys that float32 cannot rank. A few more
  candidates than are sought make up for chance ties; the queries for which they are too few are searched again, with
  both sides moved and products in float64.
- Of references at the same distance the first are taken, so the result is one, whatever blocks it was found in. Where
  more are equal to the last bits than there are candidates, all of them are measured.
- A sample is left out of its own neighbours by its index, never by its distance: duplicates are neighbours.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import DTypeLike

from proxcal._validation import Array, Bools, Floats, Ints, row_blocks
from proxcal.proximity._copies import copies_before
from proxcal.proximity._selection import Tiles, leave_out, marked, ranked, smallest_of
from proxcal.proximity.references import CLOSE, Neighbors, References, scaled, search_in_blocks, square_norms

_TILE = 1 << 12  # references a product: a block of keys stays in the processor's cache
_SPARE = 4  # candidates beyond the k sought


@dataclass(frozen=True)
class ExactSearch:
    """Every reference is compared; `chunk_size` queries at a time."""

    references: References
    chunk_size: int

    def search(self, rows: Array, scale: Floats, k: int, own: Ints | None) -> Neighbors:
        def of(which: Ints) -> tuple[Array, Floats, int, Ints | None]:
            return rows[which], scale[which], k, None if own is None else own[which]

        found, doubtful = self._found(self._tiles, rows, scale, k, own)
        if len(doubtful):
            precise, tied = self._found(self._precise_tiles, *of(doubtful))
            _replace(found, doubtful, precise)
            if len(tied):
                _replace(found, doubtful[tied], self._first_of_equals(*of(doubtful[tied])))
        return found

    def _found(
        self, tiles: Callable[[Floats], Tiles], rows: Array, scale: Floats, k: int, own: Ints | None
    ) -> tuple[Neighbors, Ints]:
        """The nearest among a few candidates more than are sought, and the queries for which these may be too few."""
        n_others = len(self.references.rows) - (own is not None)
        n_candidates = min(k + _SPARE, n_others)
        doubtful = np.zeros(len(rows), np.bool_)

        def candidates(block: slice, moved: Floats, own: Ints | None) -> Ints:
            keys, found = ranked(*smallest_of(tiles(moved), n_candidates, own))
            beaten = self._beaten(keys, k, moved)
            if n_candidates < n_others:
                doubtful[block] = ~beaten[:, -1]
            found[beaten] = -1
            return found

        found = search_in_blocks(candidates, self.references, rows, scale, k, own, self.chunk_size, at_once=True)
        return found, np.flatnonzero(doubtful)

    def _first_of_equals(self, rows: Array, scale: Floats, k: int, own: Ints | None) -> Neighbors:
        """The k nearest, all references being candidates whose keys float64 cannot tell from the k-th, but for those
        with more than k copies before them."""

        def candidates(_: slice, moved: Floats, own: Ints | None) -> Ints:
            kth = smallest_of(self._precise_tiles(moved), k, own)[0].max(axis=1)
            limit = kth + 2 * self._noise(kth, moved, np.float64)
            near = []
            for tile, keys in self._precise_tiles(moved):
                leave_out(own, tile, keys)
                some = marked((keys <= limit) & (self._copies_before[tile] <= k)[:, None])
                near.append(np.where(some < 0, some, some + tile.start))
            return np.concatenate(near, axis=1)

        return search_in_blocks(candidates, self.references, rows, scale, k, own, self.chunk_size)

    @cached_property
    def _copies_before(self) -> Ints:
        return copies_before(self.references.rows)

    def tune(self, k: int) -> float:
        return 1.0

    def kept(self) -> dict[str, Array]:
        return {}

    def _tiles(self, moved: Floats) -> Tiles:
        """Keys ‖b‖²/2 − a·b in float32, the references as they lie."""
        references, queries = self.references, moved.astype(np.float32)
        n, m = len(queries), len(references.rows)
        buffer = np.empty((min(_TILE, m), n), dtype=np.float32)
        for start in range(0, m, _TILE):
            tile = slice(start, min(start + _TILE, m))
            keys = buffer[: tile.stop - start]
            np.matmul(np.asarray(references.rows[tile], dtype=np.float32), queries.T, out=keys)
            keys *= -references.scale[tile, None].astype(np.float32)
            keys += references.half_square[tile, None]
            yield tile, keys

    def _precise_tiles(self, moved: Floats) -> Tiles:
        """Keys in float64, the references moved too."""
        references = self.references
        for tile in row_blocks(len(references.rows), max(moved.shape)):
            others = scaled(references.rows[tile], references.scale[tile]) - references.center
            yield tile, square_norms(others)[:, None] / 2 - others @ moved.T

    def _beaten(self, keys: Array, k: int, moved: Floats) -> Bools:
        """Of each query, the candidates that are farther than the k-th whatever rounding did to two keys. Where the
        last is not, a reference that is no candidate may be nearer."""
        kth = keys[:, k - 1].astype(np.float64)
        beaten: Bools = keys - kth[:, None] > 2 * self._noise(kth, moved, keys.dtype)[:, None]
        return beaten

    def _noise(self, kth: Floats, moved: Floats, dtype: DTypeLike) -> Floats:
        """What rounding may do to the keys of those that compete with each query's k-th.

        A product of d terms is off by ε √d ‖a‖ ‖b‖ at most in practice; who may compete lies no farther from the mean
        than the query and its k-th together. In float64 the rounding of the distances measured counts too.
        """
        root_d = np.sqrt(moved.shape[1])
        length = np.sqrt(square_norms(moved))
        reach = length + np.sqrt(np.maximum(2 * kth + length**2, 0))
        product = (2 + root_d / 2) * length * (reach + np.linalg.norm(self.references.center))
        unit = float(np.finfo(dtype).eps) * (1 if dtype == np.float32 else root_d / CLOSE)
        noise: Floats = unit * (product + reach**2)
        return noise


def _replace(found: Neighbors, which: Ints, by: Neighbors) -> None:
    found.distances[which], found.indices[which] = by.distances, by.indices
