"""faiss's cells for references that stay on disk: the cells lie on disk too, and a query reads those it looks into.

The rows of a cell are kept in 16 bits, so that half as much is read, and twice k of them are measured in full, from the
references themselves. Cells come into memory as they are looked into, and are let go before they fill it.
"""

from collections.abc import Mapping
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proxcal._extras import require
from proxcal._validation import Array, blocks_of
from proxcal.proximity._disk_cells import DiskCells
from proxcal.proximity.exact import ExactSearch
from proxcal.proximity.faiss_index import ADDED_BYTES, FaissSearch
from proxcal.proximity.references import References, float16_factor

_USE = "index='ivfflat' among references on disk"
_AT_ONCE = 64  # queries at the most, between one look at what is in memory and the next
_ALIGNED = 4  # numbers of 16 bits: what follows them in a cell has 64


class FaissDiskSearch(FaissSearch):
    """`index="ivfflat"`, its cells in a temporary file, or in that of a saved calibrator."""

    _measured = 2
    _cells: DiskCells

    def __init__(self, references: References, chunk_size: int, kept: Mapping[str, Array]) -> None:
        self._lock = Lock()  # cells are not let go while another thread looks into them
        if not hasattr(require("faiss", "faiss", _USE), "OnDiskInvertedLists"):
            instead = "fit it again with index='exact'" if kept else "take index='exact', or references in memory"
            raise ValueError(f"{_USE} needs faiss's lists on disk, which faiss lacks on this system; {instead}")
        super().__init__("ivfflat", references, chunk_size, kept)

    def kept(self) -> dict[str, Array]:
        with self._lock, self._cells.detached(self._index):
            trained = super().kept()
        return trained | {"cells_": self._cells.content, "cell_sizes_": self._cells.sizes}

    def _restored(self, kept: Mapping[str, Array]) -> Any:
        index = super()._restored(kept)
        self._cells = DiskCells(kept["cells_"], kept["cell_sizes_"])
        self._cells.attach(index)
        return index

    def _put_first(self, rows: NDArray[np.float32], k: int) -> Array:
        found = np.empty((len(rows), k), dtype=np.int64)
        step = min(_AT_ONCE, self._cells.queries_at_once(self._index.nprobe))
        for start in range(0, len(rows), step):
            some = rows[start : start + step]
            with self._lock:
                distances, cells = self._index.quantizer.search(some, self._index.nprobe)
                self._cells.make_room_for(cells, self._index)
                found[start : start + len(some)] = self._index.search_preassigned(some, k, cells, distances)[1]
        return found

    @property
    def _width(self) -> int:
        return -(-super()._width // _ALIGNED) * _ALIGNED

    @property
    def _factory(self) -> str:
        return super()._factory.replace("Flat", "SQfp16")

    def _fill(self, index: Any) -> None:
        """Every reference goes to the cell of its nearest centre, found by products: faiss's own assignment takes
        several times as long where its kernels are slow."""
        references = self.references
        index.by_residual = False  # rows as they are, which can be written by themselves
        centres = References.of(index.quantizer.reconstruct_n(0, index.nlist), unit=False)
        nearest = ExactSearch(centres, self.chunk_size)
        cells = np.empty(len(references.rows), dtype=np.intp)
        for block in blocks_of(references.rows, ADDED_BYTES):
            rows = self._as_indexed(references.moved(block))
            cells[block] = nearest.search(rows, np.ones(len(rows)), 1, None).indices[:, 0]

        def in_16_bits(block: slice) -> NDArray[np.float16]:
            return self._as_indexed(references.moved(block)).astype(np.float16)

        blocks = blocks_of(references.rows, ADDED_BYTES)
        self._cells = DiskCells.written(cells, index.nlist, blocks, in_16_bits, self._width)
        self._cells.attach(index)

    def _as_indexed(self, moved: Array) -> NDArray[np.float32]:
        return super()._as_indexed(moved / self._factor)

    @cached_property
    def _factor(self) -> float:
        """A power of two that brings the references into float16's middle."""
        return float16_factor(self.references.longest)
