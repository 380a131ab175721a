"""The cells of a faiss index in a file: mapped and not read, so that only those that a query looks into are in memory.

A cell is its rows in 16 bits, then their numbers; one cell lies behind the other. That is how faiss's own lists on disk
lie, which are told here where in the file each begins: in a temporary one, or in that of a saved calibrator.
"""

import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np

from proxcal._extras import require
from proxcal._mapped import LARGE
from proxcal._safetensors import as_bytes
from proxcal._validation import Array, Ints

_NUMBER = np.dtype(np.int64)  # faiss's own; a file of these lies where they may be read
_COMPARED = 1 << 16  # numbers at either end


class DiskCells:
    """`content` is the cells, taken as whole numbers, `sizes` how many rows each has."""

    def __init__(self, content: Array, sizes: Ints, file: Any = None) -> None:
        self._offset = 0
        if file is None and (file := _file_of(content)) is not None:
            self._offset = content.offset  # type: ignore[attr-defined]
        if file is None:  # small, or come through a pickle
            with _room_for(content.nbytes) as file:
                file.writelines(as_bytes(content))
            content = _mapped(file)
        weakref.finalize(self, file.close)
        self.content, self.sizes = content, sizes
        self._path = f"/dev/fd/{file.fileno()}"
        self._in_memory = np.zeros(len(sizes), dtype=np.bool_)
        self._told: Any = None

    @classmethod
    def written(
        cls, cells: Ints, n_cells: int, blocks: Iterable[slice], rows: Callable[[slice], Array], width: int
    ) -> Self:
        """Of each row's cell, and the rows themselves in float16, a block at a time; their width a multiple of four."""
        sizes = np.bincount(cells, minlength=n_cells)
        row_bytes = np.dtype(np.float16).itemsize * width
        first = np.concatenate([[0], np.cumsum(sizes)[:-1]]) * (row_bytes + _NUMBER.itemsize)
        so_far = np.zeros(n_cells, dtype=np.intp)
        size = len(cells) * (row_bytes + _NUMBER.itemsize)
        with _room_for(size) as file:
            file.truncate(size)
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
        """Give the cells to an index that was trained for them; those of them that were in memory are let go."""
        lists = _faiss().OnDiskInvertedLists(len(self.sizes), index.code_size, self._path)
        lists.read_only, lists.totsize = True, self._offset + self.content.nbytes
        lists.prefetch_nthread = 0  # its threads gain nothing on a cold file, and cost half on a warm one
        lists.lists = self._places(index)
        lists.do_mmap()
        _replace(index, lists, int(self.sizes.sum()))
        self._in_memory[:] = False

    def _places(self, index: Any) -> Any:
        """Where each cell lies, as faiss wants to be told."""
        if self._told is None:
            self._told = _faiss().OnDiskOneListVector()
            begin = self._offset
            for size in self.sizes.tolist():
                one = _faiss().OnDiskOneList()
                one.size, one.capacity, one.offset = size, size, begin
                self._told.push_back(one)
                begin += size * self._row_bytes(index)
        return self._told

    def queries_at_once(self, n_cells: int) -> int:
        """So many may each look into so many cells of mean size, and none of these be the same."""
        return int(max(1, LARGE // (n_cells * self.content.nbytes // len(self.sizes) + 1)))

    def make_room_for(self, wanted: Ints, index: Any) -> None:
        """Let go of what is in memory if it would be too much with the cells that are looked into next."""
        wanted = wanted[wanted >= 0]
        together = self._in_memory.copy()
        together[wanted] = True
        if self._in_memory.any() and self.sizes[together].sum() * self._row_bytes(index) > LARGE:
            self.attach(index)
        self._in_memory[wanted] = True

    @staticmethod
    def _row_bytes(index: Any) -> int:
        return int(index.code_size) + _NUMBER.itemsize

    @contextmanager
    def detached(self, index: Any) -> Iterator[None]:
        """Leave the index for a while as it was when it was trained."""
        _replace(index, _faiss().ArrayInvertedLists(len(self.sizes), index.code_size), 0)
        try:
            yield
        finally:
            self.attach(index)


def _faiss() -> Any:
    return require("faiss", "faiss", "an index on disk")


def _replace(index: Any, lists: Any, n_rows: int) -> None:
    index.replace_invlists(lists, True)
    lists.this.disown()  # the index's now
    index.ntotal = n_rows


@contextmanager
def _room_for(n_bytes: int) -> Iterator[Any]:
    """A file without a name, gone with whoever holds it; where it cannot be filled, it is gone at once."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 (held as long as its cells)
    try:
        yield file
        file.flush()
    except OSError as error:
        file.close()
        raise OSError(
            f"{tempfile.gettempdir()} has no room for {n_bytes / 1e6:.0f} MB of an index ({error}); "
            "let TMPDIR name a folder on a disk that has"
        ) from error
    except BaseException:
        file.close()
        raise


def _file_of(content: Any) -> Any:
    """The file that a mapped array lies in, opened once more; None where there is none, or another has its name by
    now."""
    path = getattr(content, "filename", None)
    if path is None:
        return None
    try:
        file = Path(path).open("rb")  # noqa: SIM115 (held as long as its cells)
    except OSError:
        return None
    if _holds(file, content):
        return file
    file.close()
    return None


def _holds(file: Any, content: Any) -> bool:
    """Told by either end."""
    for start in (0, max(0, len(content) - _COMPARED)):
        some = content[start : start + _COMPARED]
        file.seek(content.offset + start * content.itemsize)
        if file.read(some.nbytes) != some.tobytes():
            return False
    return True


def _mapped(file: Any) -> Array:
    return np.memmap(file, dtype=_NUMBER, mode="r")
