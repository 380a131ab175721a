"""The safetensors format, mapped when read and written a block of rows at a time, so that neither needs the memory.

A file starts with the length of a JSON header that gives each array's type, shape and place; the arrays follow, those
of the widest type first, so that each lies where its type may. What a header claims is checked against the file before
a byte is mapped. Text, which the format does not have, is kept as rows of UTF-8.
"""

import json
import os
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from proxcal._mapped import Shape, damage, map_file, n_bytes
from proxcal._validation import Array, blocks_of

_DTYPES = {
    "BOOL": "?", "U8": "u1", "I8": "i1", "U16": "<u2", "I16": "<i2", "U32": "<u4", "I32": "<i4", "U64": "<u8",
    "I64": "<i8", "F16": "<f2", "F32": "<f4", "F64": "<f8",
}  # fmt: skip
_NAMES = {np.dtype(dtype): name for name, dtype in _DTYPES.items()}
_TEXTS = "texts"  # in the header: the names of the arrays that hold text
_ALIGNMENT = 8


class SafetensorsFile:
    def __init__(self, path: Path) -> None:
        self.path = path
        with path.open("rb") as file, damage(path, "safetensors"):
            (length,) = struct.unpack("<Q", file.read(8))
            self._start = 8 + length
            self._size = os.fstat(file.fileno()).st_size - self._start
            if self._size < 0:
                raise ValueError("its header is longer than the file")
            self._entries = dict(json.loads(file.read(length)))
            self.metadata = {key: str(text) for key, text in self._entries.pop("__metadata__", {}).items()}
            self._texts = set(json.loads(self.metadata.pop(_TEXTS, "[]")))
        self.names = list(self._entries)

    def read(self, name: str) -> Array:
        with damage(self.path, "safetensors"):
            kind, shape, begin, end = _entry(self._entries[name])
        if kind not in _DTYPES:
            raise ValueError(f"{self.path}: {name} has dtype {kind}, which NumPy does not know; save it as F32")
        dtype = np.dtype(_DTYPES[kind])
        with damage(self.path, "safetensors"):
            if end - begin != n_bytes(shape, dtype) or end > self._size:
                raise ValueError(f"{name} does not fit its place in the file")
            array = map_file(self.path, dtype, shape, self._start + begin)
            return _as_text(array) if name in self._texts else array


def write_safetensors(path: Path, arrays: Mapping[str, Array], metadata: Mapping[str, str] | None = None) -> None:
    """Arrays of numbers and text; `metadata` is text that goes into the header."""
    metadata = dict(metadata or {})
    texts = {name: _as_bytes(array) for name, array in arrays.items() if array.dtype.kind == "U"}
    if texts:
        metadata[_TEXTS] = json.dumps(list(texts))
    whole = {**arrays, **texts}
    names = sorted(whole, key=lambda name: (-whole[name].dtype.itemsize, name))
    header: dict[str, Any] = {"__metadata__": metadata} if metadata else {}
    end = 0
    for name in names:
        begin, end = end, end + whole[name].nbytes
        header[name] = {
            "dtype": _kind(name, whole[name].dtype),
            "shape": whole[name].shape,
            "data_offsets": [begin, end],
        }
    encoded = json.dumps(header, separators=(",", ":")).encode()
    encoded += b" " * (-len(encoded) % _ALIGNMENT)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(encoded)) + encoded)
        for name in names:
            file.writelines(as_bytes(whole[name]))


def _kind(name: str, dtype: np.dtype[Any]) -> str:
    kind = _NAMES.get(little_endian(dtype))
    if kind is None:
        raise ValueError(f"{name} has dtype {dtype}, which the safetensors format does not have; save it as float64")
    return kind


def as_bytes(array: Array) -> Iterator[bytes]:
    """The array's numbers as they stand in a file, a block of rows at a time: in C order, the low byte first."""
    rows = array.reshape(1) if array.ndim == 0 else array
    for block in blocks_of(rows):
        yield rows[block].astype(little_endian(rows.dtype), copy=False).tobytes()


def little_endian(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return dtype.newbyteorder("<")


def _as_bytes(texts: Array) -> Array:
    """A row of UTF-8 a text, filled up with zeros."""
    encoded = np.char.encode(texts, "utf-8")
    return encoded.view(np.uint8).reshape(len(texts), -1)


def _as_text(rows: Array) -> Array:
    texts: Array = np.char.decode(np.ascontiguousarray(rows).view(f"S{rows.shape[1]}")[:, 0], "utf-8")
    return texts


def _entry(entry: Any) -> tuple[str, Shape, int, int]:
    begin, end = entry["data_offsets"]
    shape = tuple(entry["shape"])
    if any(type(size) is not int or size < 0 for size in (begin, end, *shape)):
        raise ValueError("a shape or an offset is not a whole number")
    return str(entry["dtype"]), shape, begin, end
