"""Neighbours by faiss: its flat index, and the three that look at part of the references and may miss some.

    flat      every reference is compared, in float32
    ivfflat   the references in `nlist` cells around k-means centres; a query looks into its `nprobe` nearest cells
    ivfpq     the same, the references shortened to a byte a few columns; the best few times k are measured in full
    hnsw      a graph of near references, walked towards the query with `efSearch` candidates at hand

nlist is 4 √n, at most n / 39, as faiss's k-means asks for 39 rows a centre. How far to look (nprobe, efSearch) follows
from no rule of n and d, since it is the data's own dimension that counts: so it is doubled until the neighbours of a
sample of references are found as the exact search finds them, and those of strangers, points as spread out as the
references but in none of their clusters. One cell may hold all neighbours of a reference, and few of a sample where
data is sparse, which proximity is there to tell. The share found is measured, not promised.
"""

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proxcal._extras import require
from proxcal._mapped import LARGE, is_large, release
from proxcal._validation import Array, Floats, Ints, ProxcalWarning, blocks_of, row_blocks
from proxcal.proximity.parts import exact_search
from proxcal.proximity.references import Neighbors, References, scaled, search_in_blocks

KINDS = ("flat", "ivfflat", "ivfpq", "hnsw")
ENOUGH = 0.95  # of a sample's neighbours found: the search looks no further
_TOO_FEW = 0.9
_SAMPLE = 512  # references, and strangers, whose neighbours are compared with the exact ones
_SUMMED = 8  # references in a stranger
_ROUNDING = 1 + 1e-6  # distances closer than this are equal
_LINKS = 32  # of each reference in the graph
_LEAST, _FURTHEST = 64, 2048  # efSearch: with less, the graph finds its own rows' neighbours better than others'
_MEASURED = 8  # times k, of what shortened rows put first
_ROWS_A_CENTRE = 39
_SEED = 1234
ADDED_BYTES = 64 << 20  # of float64 rows at a time
_MOST_TRAINED = 2 * LARGE  # bytes of float32 rows


class FaissSearch:
    """One of faiss's indexes over the references, built of them or of what `kept` gave."""

    def __init__(self, kind: str, references: References, chunk_size: int, kept: Mapping[str, Array]) -> None:
        self._faiss = require("faiss", "faiss", f"index={kind!r}")
        self.kind = kind
        self.references = references
        self.chunk_size = chunk_size
        self._exact = exact_search(references, chunk_size)
        self._index = self._restored(kept) if kept else self._built()

    def kept(self) -> dict[str, Array]:
        """As every backend's; see `references.Searcher`."""
        return {} if self.kind == "flat" else {"serialized_": self._faiss.serialize_index(self._index)}

    def _restored(self, kept: Mapping[str, Array]) -> Any:
        return self._faiss.deserialize_index(kept["serialized_"])

    def search(self, rows: Array, scale: Floats, k: int, own: Ints | None) -> Neighbors:
        n = k if own is None else k + 1

        def candidates(_: slice, moved: Floats, own: Ints | None) -> Ints:
            if is_large(self.references.rows):
                release(self.references.rows)  # those measured for the block before
            return self._candidates(moved, n)

        found = search_in_blocks(candidates, self.references, rows, scale, n, None, self.chunk_size)
        return found if own is None else found.without(own)

    def tune(self, k: int) -> float:
        if self.kind == "flat":
            return 1.0
        recall = self.look_until_found(k)
        if recall < _TOO_FEW:
            warnings.warn(
                f"index={self.kind!r} finds {100 * recall:.0f} % of the nearest {k} of "
                f"{min(_SAMPLE, len(self.references.rows))} references; "
                'proximity comes out too low where they are missed: take index="exact"',
                ProxcalWarning,
                stacklevel=5,
            )
        return recall

    def look_until_found(self, k: int, at_most: float = 1.0) -> float:
        """Look further until enough of the k nearest are found, both of a sample of references and of strangers, into
        `at_most` this share of the cells; the lesser share found."""
        probes = [self._some_references(), self._strangers()]
        furthest = [self._exact.search(rows, scale, k, own).distances[:, -1:] for rows, scale, own in probes]
        recall = 0.0
        for effort in self._efforts(at_most):
            self._look(effort)
            found = [self.search(rows, scale, k, own).distances for rows, scale, own in probes]
            recall = min(float((near <= _ROUNDING * far).mean()) for near, far in zip(found, furthest, strict=True))
            if recall >= ENOUGH:
                break
        return recall

    def _some_references(self) -> tuple[Array, Floats, Ints | None]:
        """Rows, their scale, and which references they are."""
        sample = np.sort(np.random.default_rng(_SEED).permutation(len(self.references.rows))[:_SAMPLE])
        return self.references.rows[sample], self.references.scale[sample], sample

    def _strangers(self) -> tuple[Array, Floats, Ints | None]:
        """As spread out as references are, but in none of their clusters: sums of a few of them with random signs."""
        references, rng = self.references, np.random.default_rng(_SEED)
        rows = np.tile(references.center, (_SAMPLE, 1))
        for of_each in rng.integers(len(references.rows), size=(_SUMMED, _SAMPLE)):
            moved = scaled(references.rows[of_each], references.scale[of_each]) - references.center
            rows += rng.choice((-1, 1), size=(_SAMPLE, 1)) / np.sqrt(_SUMMED) * moved
        return rows, np.ones(_SAMPLE), None

    def _efforts(self, at_most: float) -> Iterator[int]:
        """Doubled each time, up to one with which nothing more would be found, or as far as it pays."""
        effort, last = (_LEAST, _FURTHEST) if self.kind == "hnsw" else (1, max(1, int(at_most * self._index.nlist)))
        while effort < last:
            yield effort
            effort *= 2
        yield last

    def _look(self, effort: int) -> None:
        if self.kind == "hnsw":
            self._index.hnsw.efSearch = effort
        else:
            self._index.nprobe = effort

    def _candidates(self, moved: Floats, k: int) -> Ints:
        asked = min(len(self.references.rows), k * self._measured)
        found = self._put_first(self._as_indexed(moved), asked).astype(np.intp)
        short = np.flatnonzero((found >= 0).sum(axis=1) < k)  # the cells looked into held too few
        if len(short):
            others = moved[short] + self.references.center
            found[short] = self._exact.search(others, np.ones(len(short)), asked, None).indices
        return found

    def _put_first(self, rows: NDArray[np.float32], k: int) -> Array:
        """The k nearest by the index, −1 where it finds no more."""
        found: Array = self._index.search(rows, k)[1]
        return found

    @property
    def _measured(self) -> int:
        """Times k, of what the index puts first."""
        return _MEASURED if self.kind == "ivfpq" else 1

    @property
    def _width(self) -> int:
        """Columns of the index."""
        return _padded_width(self.kind, self.references.rows.shape[1])

    @property
    def _factory(self) -> str:
        return _factory_string(self.kind, *self.references.rows.shape)

    def _built(self) -> Any:
        index = self._faiss.index_factory(self._width, self._factory)
        if self.kind in ("ivfflat", "ivfpq"):
            index.cp.seed, index.cp.min_points_per_centroid = _SEED, 1
            if self.kind == "ivfpq":
                index.pq.cp.seed, index.pq.cp.min_points_per_centroid = _SEED, 1
            index.train(self._training_rows(index.nlist))
        self._fill(index)
        return index

    def _fill(self, index: Any) -> None:
        with self._one_thread() if self.kind == "hnsw" else nullcontext():
            for block in blocks_of(self.references.rows, ADDED_BYTES):
                index.add(self._as_indexed(self.references.moved(block)))

    def _training_rows(self, n_cells: int) -> NDArray[np.float32]:
        """A sample large enough for k-means, and for the 256 codes of shortened rows."""
        n, d = self.references.rows.shape
        size = max(min(_ROWS_A_CENTRE * n_cells, _MOST_TRAINED // (4 * d)), 256 * _ROWS_A_CENTRE)
        sample = np.sort(np.random.default_rng(_SEED).permutation(n)[:size])
        rows = np.empty((len(sample), self._width), dtype=np.float32)
        for block in row_blocks(len(sample), d):
            rows[block] = self._as_indexed(self.references.moved(sample[block]))
            release(self.references.rows)
        return rows

    def _as_indexed(self, moved: Array) -> NDArray[np.float32]:
        """Rows, their mean taken off, with columns of zeros, which change no distance, up to the index's width."""
        rows = moved.astype(np.float32, copy=False)
        return np.pad(rows, ((0, 0), (0, self._width - rows.shape[1]))) if rows.shape[1] < self._width else rows

    @contextmanager
    def _one_thread(self) -> Iterator[None]:
        """The graph depends on the order in which rows come; threads would race for it."""
        n_threads = self._faiss.omp_get_max_threads()
        self._faiss.omp_set_num_threads(1)
        try:
            yield
        finally:
            self._faiss.omp_set_num_threads(n_threads)


def _factory_string(kind: str, n: int, d: int) -> str:
    """What faiss's index_factory calls the index for n references of d columns."""
    if kind == "flat":
        return "Flat"
    if kind == "hnsw":
        return f"HNSW{_LINKS},Flat"
    cells = f"IVF{max(1, min(4 * int(np.sqrt(n)), n // _ROWS_A_CENTRE))}"
    if kind == "ivfflat":
        return f"{cells},Flat"
    bits = max(1, min(8, int(np.log2(max(n / _ROWS_A_CENTRE, 1)))))
    codes = _padded_width(kind, d) // _code_width(d)
    return f"{cells},PQ{codes}x{bits}np"  # np: not ordered for Hamming distances, which would take minutes


def _code_width(d: int) -> int:
    """Columns that share a code: 8 of a wide row, fewer of a narrow one, which would keep too little of itself."""
    return min(8, max(1, d // 16))


def _padded_width(kind: str, d: int) -> int:
    return d if kind != "ivfpq" else -(-d // _code_width(d)) * _code_width(d)
