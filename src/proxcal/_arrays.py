"""Named arrays in a file or a folder, mapped into memory rather than read wherever the format allows, and never
unpickled.

Each kind is opened by its own index: safetensors by its header (`_safetensors.py`); an npz file is a zip archive of
.npy members, of which the uncompressed ones lie in the file as they are; a folder holds .npy files; Parquet's columns,
which cannot be mapped, are copied to where they can (`_parquet.py`). What an index claims is checked against the file
before a byte is mapped or allocated. Arrays are read-only.
"""

import os
import struct
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np

from proxcal._files import atomic_write, check_readable
from proxcal._mapped import Order, Shape, damage, map_file, n_bytes
from proxcal._parquet import ParquetFile, check_parquet, write_parquet
from proxcal._safetensors import SafetensorsFile, as_bytes, little_endian, write_safetensors
from proxcal._validation import Array

_NPY_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
_LOCAL_HEADER = struct.Struct("<26x2H")  # of a zip member: the lengths of its name and of its extra field come last


class ArrayFile(Protocol):
    """`names` are those of the arrays in the file; `read` gives one of them. `metadata` is text that a header holds."""

    names: list[str]
    metadata: dict[str, str]

    def read(self, name: str) -> Array: ...


class NpzFile:
    def __init__(self, path: Path) -> None:
        self.path = path
        with path.open("rb") as file, damage(path, "npz"), zipfile.ZipFile(file) as archive:
            members = [info for info in archive.infolist() if info.filename.endswith(".npy")]
        self._members = {info.filename.removesuffix(".npy"): info for info in members}
        self.names = list(self._members)
        self.metadata: dict[str, str] = {}

    def read(self, name: str) -> Array:
        info = self._members[name]
        with damage(self.path, "npz"), zipfile.ZipFile(self.path) as archive, archive.open(info) as member:
            shape, order, dtype = _npy_header(member)
            header_size = member.tell()
            if not dtype.hasobject:
                if header_size + n_bytes(shape, dtype) != info.file_size:
                    raise ValueError(f"{name} does not fit its place in the file")
                if info.compress_type == zipfile.ZIP_STORED:
                    return map_file(self.path, dtype, shape, _member_start(self.path, info) + header_size, order)
                return np.ndarray(shape, dtype, member.read(), order=order)
        raise _objects(self.path, name)


class NpyFolder:
    """NAME.npy for each array."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.names = sorted(file.stem for file in path.glob("*.npy") if file.is_file())
        self.metadata: dict[str, str] = {}

    def read(self, name: str) -> Array:
        path = self.path / f"{name}.npy"
        with path.open("rb") as file, damage(path, "npy"):
            shape, order, dtype = _npy_header(file)
            start = file.tell()
            if not dtype.hasobject:
                if start + n_bytes(shape, dtype) != os.fstat(file.fileno()).st_size:
                    raise ValueError("its length is not what its header says")
                return map_file(path, dtype, shape, start, order)
        raise _objects(self.path, name)


def _npy_header(member: IO[bytes]) -> tuple[Shape, Order, np.dtype[Any]]:
    version = np.lib.format.read_magic(member)
    if version not in _NPY_HEADERS:
        raise ValueError(f"its npy version is {version}")
    shape, fortran, dtype = _NPY_HEADERS[version](member)
    return shape, "F" if fortran else "C", dtype


def _objects(path: Path, name: str) -> ValueError:
    return ValueError(f"{path}: {name} holds Python objects, which are never unpickled; save it as numbers")


def _member_start(path: Path, info: zipfile.ZipInfo) -> int:
    """Where a member's bytes begin: behind its local header, whose extra field may differ from the archive index's."""
    with path.open("rb") as file:
        file.seek(info.header_offset)
        lengths = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
    return int(info.header_offset + _LOCAL_HEADER.size + sum(lengths))


def _write_npz(path: Path, arrays: Mapping[str, Array], metadata: Mapping[str, str]) -> None:
    """Not compressed, so that it can be mapped."""
    texts = {name: np.array(text) for name, text in metadata.items()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in {**arrays, **texts}.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                described = {
                    "descr": np.lib.format.dtype_to_descr(little_endian(array.dtype)),
                    "fortran_order": False,
                    "shape": array.shape,
                }
                np.lib.format.write_array_header_1_0(member, described)
                for some in as_bytes(array):
                    member.write(some)


FORMATS: dict[str, type[SafetensorsFile] | type[NpzFile]] = {".npz": NpzFile, ".safetensors": SafetensorsFile}
READERS: dict[str, Callable[[Path], ArrayFile]] = {**FORMATS, ".parquet": ParquetFile}
_WRITERS: dict[str, Callable[[Path, Mapping[str, Array], Mapping[str, str]], None]] = {
    ".npz": _write_npz,
    ".safetensors": write_safetensors,
    ".parquet": write_parquet,
}


def check_suffix(path: Path) -> str:
    """The suffix, one of those under which arrays of any shapes are kept."""
    return _known_suffix(path, FORMATS)


def _known_suffix(path: Path, known: Mapping[str, object], or_else: str = "") -> str:
    suffix = path.suffix.lower()
    if suffix not in known:
        *others, last = known
        kept = f"arrays are kept in {', '.join(others)} or {last} files{or_else}"
        raise ValueError(f"{path} has the suffix {path.suffix!r}; {kept}")
    return suffix


def open_arrays(path: Path) -> ArrayFile:
    """A file of one of the `READERS`, or a folder of .npy files."""
    if path.is_dir():
        return NpyFolder(path)
    suffix = _known_suffix(path, READERS, ", or as .npy in a folder")
    return READERS[suffix](check_readable(path))


def write_arrays(
    path: str | os.PathLike[str],
    arrays: Mapping[str, Array],
    overwrite: bool = False,
    metadata: Mapping[str, str] | None = None,
) -> None:
    """To .npz (not compressed, so that it can be mapped), .safetensors, or .parquet (a column an array, all of one
    length), by the suffix, a block of rows at a time. `metadata` is text that goes into the header, or into arrays of
    one text where there is none."""
    suffix = _known_suffix(Path(path), _WRITERS)
    if suffix == ".parquet":
        check_parquet(arrays)
    with atomic_write(path, overwrite) as temporary:
        _WRITERS[suffix](temporary, arrays, metadata or {})
