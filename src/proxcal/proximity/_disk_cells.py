"""The cells of a faiss index in a file: mapped and not read, so that only those that a query looks into are in memory.

A cell is its rows in 16 bits, then their numbers; one cell lies behind the other. That is how faiss's own lists on disk
lie, which are told here where in the file each begins: in a temporary one, or in that of a saved calibrator.
"""

import tempfile
import weakref
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Self

import numpy as np

from proxcal._extras import require
from proxcal._safetensors import as_bytes
from proxcal._validation import Array, Ints

_NUMBER = np.dtype(np.int64)  # faiss's own; a file of these lies where they may be read
_COMPARED = 1 << 16  # numbers at either end
_USE = "an index on disk"


class DiskCells:
    """`content` is the cells, taken as whole numbers, `sizes` how many rows each has."""

    def __init__(self, content: Array, sizes: Ints, file: Any = None) -> None:
        self.content, self.sizes, self._offset = content, sizes, 0
        if file is None:
            file, self._offset = _file_of(content)
        self._path = f"/dev/fd/{file.fileno()}"
        weakref.finalize(self, file.close)

    @classmethod
    def written(
        cls, cells: Ints, n_cells: int, blocks: Iterable[slice], rows: Callable[[slice], Array], width: int
    ) -> Self:
        """Of each row's cell, and the rows themselves in float16, a block at a time; their width a multiple of four."""
        sizes = np.bincount(cells, minlength=n_cells)
        row_bytes = np.dtype(np.float16).itemsize * width
        first = np.concatenate([[0], np.cumsum(sizes)[:-1]]) * (row_bytes + _NUMBER.itemsize)
        so_far = np.zeros(n_cells, dtype=np.intp)
        file = _temporary()
        file.truncate(len(cells) * (row_bytes + _NUMBER.itemsize))
        for block in blocks:
            some = rows(block)
            order = np.argsort(cells[block], kind="stable")
            for members in np.split(order, np.flatnonzero(np.diff(cells[block][order])) + 1):
                cell = cells[block.start + members[0]]
                file.seek(first[cell] + so_far[cell] * row_bytes)
                file.write(some[members].tobytes())
                file.seek(first[cell] + sizes[cell] * row_bytes + so_far[cell] * _NUMBER.itemsize)
                file.write((block.start + members).astype(_NUMBER).tobytes())
                so_far[cell] += len(members)
        return cls(_mapped(file), sizes, file)

    def attach(self, index: Any) -> None:
        """Give the cells to an index that was trained for them; pages of them that it held are let go."""
        faiss = require("faiss", "faiss", _USE)
        lists = faiss.OnDiskInvertedLists(len(self.sizes), index.code_size, self._path)
        lists.read_only, lists.totsize = True, self._offset + self.content.nbytes
        lists.lists.clear()
        begin = self._offset
        for size in self.sizes.tolist():
            one = faiss.OnDiskOneList()
            one.size, one.capacity, one.offset = size, size, begin
            lists.lists.push_back(one)
            begin += size * (index.code_size + _NUMBER.itemsize)
        lists.do_mmap()
        _replace(index, lists, int(self.sizes.sum()))

    def detach(self, index: Any) -> None:
        """Leave the index as it was when it was trained."""
        faiss = require("faiss", "faiss", _USE)
        _replace(index, faiss.ArrayInvertedLists(len(self.sizes), index.code_size), 0)


def _replace(index: Any, lists: Any, n_rows: int) -> None:
    index.replace_invlists(lists, True)
    lists.this.disown()  # the index's now
    index.ntotal = n_rows


def _temporary() -> Any:
    """A file without a name, gone with whoever holds it."""
    return tempfile.TemporaryFile()


def _file_of(content: Any) -> tuple[Any, int]:
    """A file that holds the cells, and where they begin in it: the one that they are mapped from, or a copy where there
    is none, or where another has its name by now."""
    path = getattr(content, "filename", None)
    if path is not None and Path(path).exists():
        file = Path(path).open("rb")  # noqa: SIM115 (held as long as its cells)
        if _holds(file, content):
            return file, content.offset
        file.close()
    copy = _temporary()
    copy.writelines(as_bytes(content))
    copy.flush()
    return copy, 0


def _holds(file: Any, content: Any) -> bool:
    """Told by either end."""
    for start in (0, max(0, len(content) - _COMPARED)):
        some = content[start : start + _COMPARED]
        file.seek(content.offset + start * content.itemsize)
        if file.read(some.nbytes) != some.tobytes():
            return False
    return True


def _mapped(file: Any) -> Array:
    file.flush()
    return np.memmap(file, dtype=_NUMBER, mode="r")
