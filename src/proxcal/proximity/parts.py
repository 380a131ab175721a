"""Exact neighbours among references that stay on disk: a part of them at a time is read into memory, and searched for
many queries.

The part is the outer loop and queries the inner one: the references are read once for as many queries as memory takes,
not once for every few hundred. A part's k nearest are those of a search among it alone; of all parts' the k nearest,
the first of equals, are the k nearest of the whole, to the bit, for a distance does not depend on what else is
measured.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from proxcal._mapped import LARGE, is_large
from proxcal._validation import Array, Floats, Ints, blocks_of
from proxcal.proximity.exact import ExactSearch
from proxcal.proximity.references import Neighbors, References, Searcher, nearest_of_parts


@dataclass(frozen=True)
class PartsSearch:
    """`chunk_size` as `ExactSearch`'s; `n_bytes` that a part and its queries may take, either."""

    references: References
    chunk_size: int
    n_bytes: int = LARGE

    def search(self, rows: Array, scale: Floats, k: int, own: Ints | None) -> Neighbors:
        """As every backend's; see `references.Searcher`."""
        found = Neighbors(np.full((len(rows), k), np.inf), np.full((len(rows), k), -1))
        for queries in blocks_of(rows, self.n_bytes):
            selves = None if own is None else own[queries]
            for start, part in self._parts(k):
                near = ExactSearch(part, self.chunk_size).search(
                    rows[queries], scale[queries], k, None if selves is None else selves - start
                )
                nearest = nearest_of_parts([found.take(queries), Neighbors(near.distances, near.indices + start)], k)
                found.distances[queries], found.indices[queries] = nearest.distances, nearest.indices
        return found

    def tune(self, k: int) -> float:
        return 1.0

    def kept(self) -> dict[str, Array]:
        return {}

    def _parts(self, k: int) -> Iterator[tuple[int, References]]:
        """Each part with where it starts; every one has more than k rows."""
        n, d = self.references.rows.shape
        n_parts = min(-(-n * d * self._dtype.itemsize // self.n_bytes), n // (k + 1))
        ends = np.linspace(0, n, max(1, n_parts) + 1).astype(int).tolist()
        for start, stop in pairwise(ends):
            yield start, self._read(slice(start, stop))

    def _read(self, part: slice) -> References:
        references = self.references
        rows = references.rows[part]
        held = np.empty(rows.shape, self._dtype)
        for block in blocks_of(rows):
            held[block] = rows[block]
        return References(held, references.scale[part], references.center, references.half_square[part])

    @property
    def _dtype(self) -> np.dtype[Any]:
        """Of a part in memory: what products are taken in, or the rows' own where that holds more."""
        return np.promote_types(self.references.rows.dtype, np.float32)


def exact_search(references: References, chunk_size: int) -> Searcher:
    """In memory, or in parts where the references stay on disk."""
    if is_large(references.rows):
        return PartsSearch(references, chunk_size)
    return ExactSearch(references, chunk_size)
