"""Named arrays as the columns of a Parquet file (the `parquet` extra): a list of numbers a row for a matrix, a number
or a text a row for a vector.

Parquet is compressed and encoded, so it cannot be mapped. A matrix is read a batch of rows at a time, which takes a row
group's pages as it needs them, into a temporary file that can (`_mapped.Spool`): it takes that much of the disk, and
memory for one batch. Vectors are held in memory. What has no number for a sample (nulls, rows of other lengths) is
refused by its row.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from proxcal._extras import require
from proxcal._mapped import Spool, damage, release
from proxcal._validation import Array, row_blocks

_BATCH_BYTES = 32 << 20
_PAGES = 1 << 20  # bytes of a column that are read ahead


class ParquetFile:
    def __init__(self, path: Path) -> None:
        parquet = _parquet(f"{path} is Parquet, which")
        self.path = path
        with damage(path, "Parquet"):
            self._file = parquet.ParquetFile(path, buffer_size=_PAGES)
            self._schema = self._file.schema_arrow
        self.names = list(self._schema.names)
        known = (self._schema.metadata or {}).items()
        self.metadata = {key.decode(errors="replace"): text.decode(errors="replace") for key, text in known}

    def read(self, name: str) -> Array:
        field = self._schema.field(name)
        if _is_list(field.type):
            return self._matrix(name)
        blocks = [self._numbers(name, column) for _, column in self._columns(name, _rows_a_batch(1))]
        return np.concatenate(blocks) if blocks else np.empty(0)

    def _matrix(self, name: str) -> Array:
        width = None
        with Spool() as rows:
            for start, column in self._columns(name, _rows_a_batch(self._width(name))):
                width = self._check_width(name, start, column, width)
                rows.append(self._numbers(name, column.flatten()).reshape(len(column), width))
            return rows.mapped()

    def _width(self, name: str) -> int:
        """Of the first row; it is looked at later whether the others have the same."""
        return next((len(column.flatten()) for _, column in self._columns(name, 1)), 1)

    def _columns(self, name: str, n_rows: int) -> Iterator[tuple[int, Any]]:
        """The column, so many rows at a time, each piece with the row that it starts at."""
        start = 0
        batches = self._file.iter_batches(batch_size=n_rows, columns=[name], use_threads=False)
        while (column := self._next(batches)) is not None:
            if column.null_count:
                first = start + int(np.argmax(np.asarray(column.is_null())))
                raise ValueError(f"{self.path}: {name} has nulls, the first in row {first}; leave those samples out")
            yield start, column
            start += len(column)

    def _next(self, batches: Iterator[Any]) -> Any:
        with damage(self.path, "Parquet"):
            batch = next(batches, None)
        return None if batch is None else batch.column(0)

    def _check_width(self, name: str, start: int, column: Any, expected: int | None) -> int:
        lengths = np.asarray(column.value_lengths())
        width = int(lengths[0]) if expected is None else expected
        if (lengths != width).any():
            row = int(np.argmax(lengths != width))
            raise ValueError(
                f"{self.path}: {name} has {lengths[row]} numbers in row {start + row} and {width} in those before;"
                " it needs as many in each"
            )
        return width

    def _numbers(self, name: str, values: Any) -> Array:
        if values.null_count:
            raise ValueError(f"{self.path}: {name} has nulls among its numbers; leave those samples out")
        array = values.to_numpy(zero_copy_only=False)
        if array.dtype.hasobject and all(isinstance(text, str) for text in array):
            array = array.astype(np.str_)
        if array.dtype.kind not in "fiubU":
            raise ValueError(f"{self.path}: {name} holds {values.type}; it needs numbers, a list of them, or text")
        return np.asarray(array)


def _rows_a_batch(n_columns: int) -> int:
    return max(1, _BATCH_BYTES // (8 * max(1, n_columns)))


def check_parquet(arrays: Mapping[str, Array]) -> None:
    """Said before anything is written."""
    _parquet("a .parquet file")
    first, n = next((name, len(array)) for name, array in arrays.items())
    for name, array in arrays.items():
        if array.ndim > 2 or len(array) != n:
            raise ValueError(
                f"{name} has shape {array.shape}; a .parquet file takes vectors and matrices with a row a sample, as"
                f" many as {first} has ({n})"
            )


def write_parquet(path: Path, arrays: Mapping[str, Array], metadata: Mapping[str, str]) -> None:
    """A row group a block of rows."""
    arrow, parquet = require("pyarrow", "parquet", "Parquet"), _parquet("a .parquet file")

    def table(block: slice) -> Any:
        return arrow.table({name: _column(arrow, array[block]) for name, array in arrays.items()})

    schema = table(slice(0)).schema.with_metadata(dict(metadata) or None)
    n_columns = sum(array[:1].size for array in arrays.values())
    with parquet.ParquetWriter(path, schema) as writer:
        for block in row_blocks(len(next(iter(arrays.values()))), n_columns, _BATCH_BYTES):
            writer.write_table(table(block))
            for array in arrays.values():
                release(array)


def _column(arrow: Any, rows: Array) -> Any:
    native = np.ascontiguousarray(rows, dtype=rows.dtype.newbyteorder("="))
    if native.ndim == 1:
        return arrow.array(native)
    return arrow.FixedSizeListArray.from_arrays(arrow.array(native.reshape(-1)), native.shape[1])


def _is_list(kind: Any) -> bool:
    types = require("pyarrow.types", "parquet", "Parquet")
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _parquet(what: str) -> Any:
    return require("pyarrow.parquet", "parquet", what)
