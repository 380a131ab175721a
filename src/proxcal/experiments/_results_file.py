"""Where a sweep's results are kept as they come, so that a kill at any moment loses none and none is made twice.

Rows are appended to a CSV file, many in one write, and are on the disk before the next are made. A kill may tear the
last line: only lines with their end count. Whatever is replaced (rows to be kept at a resume, the sorted file at the
end) is written beside and renamed, so that at each moment one whole version is there. Parquet cannot be appended to:
its rows are collected in a CSV file beside it, NAME.parquet.part.csv, and written as one file at the end; while the
collection is there, it is what counts, for it began with all that the Parquet file held.
"""

import csv
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, Self

from proxcal._files import atomic_write, check_writable
from proxcal.experiments._sweep_record import HEADER, KINDS, SweepRecord, lines, parse

SUFFIXES = (".csv", ".parquet")


class ResultsFile:
    """`kept` are the rows that were there. Entered with those to go on from, it takes more until it is closed; `finish`
    gives the file its last form."""

    def __init__(self, path: str | os.PathLike[str], settings: Mapping[str, Any], *, overwrite: bool = False) -> None:
        self.path = Path(path)
        if self.path.suffix.lower() not in SUFFIXES:
            raise ValueError(f"output has the suffix {self.path.suffix!r}; results need one of {', '.join(SUFFIXES)}")
        self._is_parquet = self.path.suffix.lower() == ".parquet"
        self._journal = self.path.with_name(f"{self.path.name}.part.csv") if self._is_parquet else self.path
        if self._is_parquet:
            _pyarrow()
        for written in (self.path, self._journal):
            check_writable(written, overwrite=True)
        self.kept: list[SweepRecord] = [] if overwrite else self._read()
        for described in {row.settings for row in self.kept}:
            _check_settings(self.path, json.loads(described or "{}"), settings)

    def _read(self) -> list[SweepRecord]:
        if self._journal.exists():
            return _read_csv(self._journal)
        return _read_parquet(self.path) if self._is_parquet and self.path.exists() else []

    def start(self, rows: Iterable[SweepRecord]) -> Self:
        """Take these as the rows that are there, and more from now on."""
        _write_csv(self._journal, rows)
        self._open: IO[str] = self._journal.open("a", encoding="utf-8", newline="")
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def append(self, rows: Iterable[SweepRecord]) -> None:
        self._open.write(lines(rows))
        _to_disk(self._open)

    def finish(self, rows: Sequence[SweepRecord]) -> None:
        """Leave these, in this order, as the whole of the results."""
        self._open.close()
        if not self._is_parquet:
            _write_csv(self.path, rows)
            return
        _write_parquet(self.path, rows)
        self._journal.unlink()


def _check_settings(path: Path, of_file: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    for name in dict.fromkeys([*now, *of_file]):
        before, after = (given.get(name, "nothing") for given in (of_file, now))
        if before != after:
            raise ValueError(
                f"{path} has results with {name} {before!r}, and this sweep has {name} {after!r}: give another output,"
                " or pass overwrite=True (--force on the command line) to start anew"
            )


def _not_ours(path: Path, why: object) -> ValueError:
    return ValueError(
        f"{path} does not hold results of a sweep ({why}); give another output, or pass overwrite=True (--force on the"
        " command line) to replace it"
    )


def _read_csv(path: Path) -> list[SweepRecord]:
    """The whole lines; what follows the last line end was torn."""
    content = path.read_bytes()
    whole, _, torn = content.rpartition(b"\n")
    if not whole and HEADER.encode().startswith(torn):
        return []
    try:
        header, *rows = csv.reader(whole.decode().split("\n"), strict=True)
        if tuple(header) != SweepRecord._fields:
            raise ValueError("its first line is another")
        return [parse(row) for row in rows]
    except (ValueError, csv.Error) as error:
        raise _not_ours(path, error) from None


def _write_csv(path: Path, rows: Iterable[SweepRecord]) -> None:
    with atomic_write(path, overwrite=True) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        file.write(HEADER + lines(rows))
        _to_disk(file)


def _to_disk(file: IO[Any]) -> None:
    file.flush()
    os.fsync(file.fileno())


def _read_parquet(path: Path) -> list[SweepRecord]:
    _, parquet = _pyarrow()
    try:
        return [SweepRecord(**row) for row in parquet.read_table(path).to_pylist()]
    except (ValueError, OSError, TypeError) as error:
        raise _not_ours(path, " ".join(str(error).split())) from None


def _write_parquet(path: Path, rows: Sequence[SweepRecord]) -> None:
    arrow, parquet = _pyarrow()
    types = {str: arrow.string(), int: arrow.int64(), float: arrow.float64()}
    schema = arrow.schema([(name, types[kind]) for name, kind in KINDS.items()])
    table = arrow.Table.from_pylist([row._asdict() for row in rows], schema=schema)
    with atomic_write(path, overwrite=True) as temporary, ExitStack() as closing:
        file = closing.enter_context(temporary.open("wb"))
        parquet.write_table(table, file)
        _to_disk(file)


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow  # noqa: PLC0415 (an extra, and slow to import)
        import pyarrow.parquet  # noqa: PLC0415
    except ImportError:
        raise ValueError(
            "output is to be Parquet, which needs pyarrow: pip install 'proxcal[parquet]', or write .csv"
        ) from None
    return pyarrow, pyarrow.parquet
