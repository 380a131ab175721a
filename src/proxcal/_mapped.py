"""Arrays larger than memory: files mapped read-only, whose pages are let go behind whoever walks over them.

A page of a mapped file stays in memory once it was touched, and counts as this process's, until the system wants it
for something else: a walk over ten million rows would fill all there is. `release` hands the pages back at once; they
are read again if they are touched again. What cannot be mapped where it lies (chosen rows, Parquet) goes to a temporary
file a block at a time, and is mapped from there (`Spool`).
"""

import math
import mmap
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

LARGE = 256 << 20  # bytes: a mapped array of more is never held in memory whole
Shape = tuple[int, ...]
Order = Literal["C", "F"]


def map_file(path: Path, dtype: np.dtype[Any], shape: Shape, offset: int, order: Order = "C") -> NDArray[Any]:
    """An array of a file, read-only; the file is known to hold it."""
    if 0 in shape:  # nothing to map
        return np.empty(shape, dtype)
    array: NDArray[Any] = np.memmap(path, dtype=dtype, mode="r", offset=offset, shape=shape, order=order)
    return array


@contextmanager
def damage(path: Path, kind: str) -> Iterator[None]:
    """Whatever a parser trips over, in whichever of its own ways, means the one thing."""
    try:
        yield
    except Exception as error:
        reason = " ".join(str(error).split())
        raise ValueError(
            f"{path} is not a whole {kind} file ({reason}); was it cut short, or is it of another kind?"
        ) from error


def n_bytes(shape: Shape, dtype: np.dtype[Any]) -> int:
    return math.prod(shape) * dtype.itemsize


def mapping_of(array: NDArray[Any]) -> mmap.mmap | None:
    """The read-only mapping that the array is a view of, if it is."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    return base if isinstance(base, mmap.mmap) and memoryview(base).readonly else None


def is_large(array: NDArray[Any], size: int | None = None) -> bool:
    """Whether it is mapped, and it (or what is wanted of it, of `size` bytes) too large to be held in memory."""
    return (array.nbytes if size is None else size) > LARGE and mapping_of(array) is not None


def release(array: NDArray[Any]) -> None:
    """Let go of the pages that hold a mapped array, where the system can."""
    mapping, advice = mapping_of(array), getattr(mmap, "MADV_DONTNEED", None)
    if mapping is not None and advice is not None:
        with suppress(OSError):  # pages that the process has locked stay
            mapping.madvise(advice)


class Spool:
    """Rows of one type and width that come a block at a time, each block written to a temporary file, in `folder` or
    where TMPDIR says. `mapped` gives them as one array, which outlasts the spool; the file has no name, and is gone
    with it."""

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 (closed on leaving)
        self._dtype: np.dtype[Any] = np.dtype(np.float64)
        self._shape: Shape = (0,)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def append(self, rows: NDArray[Any]) -> None:
        self._dtype, self._shape = rows.dtype, (self._shape[0] + len(rows), *rows.shape[1:])
        self._file.write(rows.tobytes())

    def mapped(self) -> NDArray[Any]:
        if 0 in self._shape:
            return np.empty(self._shape, self._dtype)
        self._file.flush()
        mapping = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        return np.ndarray(self._shape, self._dtype, buffer=mapping)
