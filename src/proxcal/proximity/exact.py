"""Exact nearest neighbours at the speed of a matrix product.

For a fixed query a, ‖a − b‖² orders the references b as ‖b‖²/2 − a·b does: one float32 product a block, whose
temporaries are bounded by the block and never n × m. Two things keep it right:

- Features that lie far from the origin would drown their differences in float32. The order does not change when both
  sides are moved by the mean μ, and (a − μ)·b differs from (a − μ)·(b − μ) by a constant of the query: so only the
  small block of queries is moved, and the references are used as they lie, uncopied.
- A sample is left out of its own neighbours by its index, never by its distance: duplicates are neighbours.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from proxcal._validation import Array, Floats, Ints
from proxcal.proximity.references import Neighbors, References, search_in_blocks

_TILE = 1 << 15  # references a product: bounds the block of keys


@dataclass(frozen=True)
class ExactSearch:
    """Every reference is compared; `chunk_size` queries at a time."""

    references: References
    chunk_size: int

    def search(self, rows: Array, scale: Floats, k: int, own: Ints | None) -> Neighbors:
        return search_in_blocks(self.candidates, self.references, rows, scale, k, own, self.chunk_size)

    def tune(self, k: int) -> float:
        return 1.0

    def to_bytes(self) -> None:
        return None

    def candidates(self, moved: NDArray[np.float32], k: int, own: Ints | None) -> Ints:
        """Indices of the k references with the smallest ‖b‖²/2 − a·b, in no order."""
        best_keys: Array = np.empty((len(moved), 0), dtype=np.float32)
        best: Ints = np.empty((len(moved), 0), dtype=np.intp)
        for start in range(0, len(self.references.rows), _TILE):
            tile = slice(start, min(start + _TILE, len(self.references.rows)))
            keys = moved @ np.asarray(self.references.rows[tile], dtype=np.float32).T
            keys *= -self.references.scale[tile].astype(np.float32)
            keys += self.references.half_square[tile]
            if own is not None:
                inside = np.flatnonzero((own >= tile.start) & (own < tile.stop))
                keys[inside, own[inside] - tile.start] = np.inf
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
