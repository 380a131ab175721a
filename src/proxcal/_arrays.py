"""Named arrays in a file, mapped into memory rather than read wherever the format allows, and never unpickled.

Both formats are opened by their own index: a safetensors file starts with the length of a JSON header that gives each
array's type, shape and place; an npz file is a zip archive of .npy members, of which the uncompressed ones lie in the
file as they are. What an index claims is checked against the file before a byte is mapped or allocated. Arrays are
read-only.
"""

import json
import math
import os
import struct
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal, Protocol

import numpy as np
from safetensors.numpy import save_file

from proxcal._files import atomic_write, check_readable
from proxcal._validation import Array

Shape = tuple[int, ...]
Order = Literal["C", "F"]

_DTYPES = {
    "BOOL": "?", "U8": "u1", "I8": "i1", "U16": "<u2", "I16": "<i2", "U32": "<u4", "I32": "<i4", "U64": "<u8",
    "I64": "<i8", "F16": "<f2", "F32": "<f4", "F64": "<f8",
}  # fmt: skip
_NPY_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
_TEXTS = "texts"  # in a safetensors header: the names of the arrays that hold text, which that format does not have
_LOCAL_HEADER = struct.Struct("<26x2H")  # of a zip member: the lengths of its name and of its extra field come last


class ArrayFile(Protocol):
    """`names` are those of the arrays in the file; `read` gives one of them. `metadata` is text that a header holds."""

    names: list[str]
    metadata: dict[str, str]

    def read(self, name: str) -> Array: ...


class SafetensorsFile:
    def __init__(self, path: Path) -> None:
        self.path = path
        with path.open("rb") as file, _damage(path, "safetensors"):
            (length,) = struct.unpack("<Q", file.read(8))
            self._start = 8 + length
            self._size = os.fstat(file.fileno()).st_size - self._start
            if self._size < 0:
                raise ValueError("its header is longer than the file")
            self._entries = dict(json.loads(file.read(length)))
            self.metadata = dict(self._entries.pop("__metadata__", {}))
            self._texts = set(json.loads(self.metadata.pop(_TEXTS, "[]")))
        self.names = list(self._entries)

    def read(self, name: str) -> Array:
        with _damage(self.path, "safetensors"):
            kind, shape, begin, end = _safetensors_entry(self._entries[name])
        if kind not in _DTYPES:
            raise ValueError(f"{self.path}: {name} has dtype {kind}, which NumPy does not know; save it as F32")
        dtype = np.dtype(_DTYPES[kind])
        with _damage(self.path, "safetensors"):
            if end - begin != _n_bytes(shape, dtype) or end > self._size:
                raise ValueError(f"{name} does not fit its place in the file")
            array = _map(self.path, dtype, shape, self._start + begin)
            return _as_text(array) if name in self._texts else array


def _as_bytes(texts: Array) -> Array:
    """A row of UTF-8 a text, filled up with zeros."""
    encoded = np.char.encode(texts, "utf-8")
    return encoded.view(np.uint8).reshape(len(texts), -1)


def _as_text(rows: Array) -> Array:
    texts: Array = np.char.decode(np.ascontiguousarray(rows).view(f"S{rows.shape[1]}")[:, 0], "utf-8")
    return texts


def _safetensors_entry(entry: Any) -> tuple[str, Shape, int, int]:
    begin, end = entry["data_offsets"]
    shape = tuple(entry["shape"])
    if any(type(size) is not int or size < 0 for size in (begin, end, *shape)):
        raise ValueError("a shape or an offset is not a whole number")
    return str(entry["dtype"]), shape, begin, end


class NpzFile:
    def __init__(self, path: Path) -> None:
        self.path = path
        with path.open("rb") as file, _damage(path, "npz"), zipfile.ZipFile(file) as archive:
            members = [info for info in archive.infolist() if info.filename.endswith(".npy")]
        self._members = {info.filename.removesuffix(".npy"): info for info in members}
        self.names = list(self._members)
        self.metadata: dict[str, str] = {}

    def read(self, name: str) -> Array:
        info = self._members[name]
        with _damage(self.path, "npz"), zipfile.ZipFile(self.path) as archive, archive.open(info) as member:
            shape, fortran, dtype = _npy_header(member)
            header_size = member.tell()
            if not dtype.hasobject:
                if header_size + _n_bytes(shape, dtype) != info.file_size:
                    raise ValueError(f"{name} does not fit its place in the file")
                order: Order = "F" if fortran else "C"
                if info.compress_type == zipfile.ZIP_STORED:
                    return _map(self.path, dtype, shape, _member_start(self.path, info) + header_size, order)
                return np.ndarray(shape, dtype, member.read(), order=order)
        raise ValueError(f"{self.path}: {name} holds Python objects, which are never unpickled; save it as numbers")


def _npy_header(member: IO[bytes]) -> tuple[Shape, bool, np.dtype[Any]]:
    version = np.lib.format.read_magic(member)
    if version not in _NPY_HEADERS:
        raise ValueError(f"its npy version is {version}")
    return _NPY_HEADERS[version](member)


def _member_start(path: Path, info: zipfile.ZipInfo) -> int:
    """Where a member's bytes begin: behind its local header, whose extra field may differ from the archive index's."""
    with path.open("rb") as file:
        file.seek(info.header_offset)
        lengths = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
    return int(info.header_offset + _LOCAL_HEADER.size + sum(lengths))


def _n_bytes(shape: Shape, dtype: np.dtype[Any]) -> int:
    return math.prod(shape) * dtype.itemsize


def _map(path: Path, dtype: np.dtype[Any], shape: Shape, offset: int, order: Order = "C") -> Array:
    if 0 in shape:  # nothing to map
        return np.empty(shape, dtype)
    array: Array = np.memmap(path, dtype=dtype, mode="r", offset=offset, shape=shape, order=order)
    return array


@contextmanager
def _damage(path: Path, kind: str) -> Iterator[None]:
    """Whatever a parser trips over, in whichever of its own ways, means the one thing."""
    try:
        yield
    except Exception as error:
        raise ValueError(
            f"{path} is not a whole {kind} file ({error}); was it cut short, or is it of another kind?"
        ) from error


FORMATS: dict[str, type[SafetensorsFile] | type[NpzFile]] = {".npz": NpzFile, ".safetensors": SafetensorsFile}


def check_suffix(path: Path) -> str:
    """The suffix, one of those this package reads and writes arrays under."""
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise ValueError(f"{path} has the suffix {path.suffix!r}; arrays are kept in {' or '.join(FORMATS)} files")
    return suffix


def open_arrays(path: Path) -> ArrayFile:
    suffix = check_suffix(path)
    return FORMATS[suffix](check_readable(path))


def write_arrays(
    path: str | os.PathLike[str],
    arrays: Mapping[str, Array],
    overwrite: bool = False,
    metadata: Mapping[str, str] | None = None,
) -> None:
    """To .npz (not compressed, so that it can be mapped) or .safetensors, by the suffix. `metadata` is text that goes
    into the header, or into arrays of one text where there is none."""
    suffix = check_suffix(Path(path))
    metadata = dict(metadata or {})
    with atomic_write(path, overwrite) as temporary:
        if suffix == ".safetensors":
            texts = {name: _as_bytes(array) for name, array in arrays.items() if array.dtype.kind == "U"}
            if texts:
                metadata[_TEXTS] = json.dumps(list(texts))
            whole = {name: np.ascontiguousarray(array) for name, array in {**arrays, **texts}.items()}
            save_file(whole, temporary, metadata=metadata or None)
        else:
            texts = {name: np.array(text) for name, text in metadata.items()}
            with temporary.open("wb") as file:
                np.savez(file, **{**arrays, **texts})  # type: ignore[arg-type]
