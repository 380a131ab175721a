"""What is known of a model beside its predictions: its name, its family, and how many parameters it has.

It may stand in the predictions file (strings and numbers of one value in .npz, the header's metadata in .safetensors:
read, never unpickled), or in a table, which goes first where both speak.
"""

import csv
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from proxcal._arrays import ArrayFile, open_arrays

NAMES = ("model", "family", "parameters")
BESIDE = "metadata.csv"
Table = Mapping[str, Mapping[str, Any]]


class Metadata(NamedTuple):
    model: str
    family: str | None
    parameters: int | None


def metadata_table(given: str | os.PathLike[str] | Table | None, paths: Iterable[Path]) -> Table:
    """What is known of each file, by its name or its absolute path, the suffix left out or not: `given`, a table or the
    path of one in CSV; or else the metadata.csv beside the files, if there is one."""
    if given is None:
        tables = {folder: folder / BESIDE for folder in dict.fromkeys(path.parent for path in paths)}
        known = {folder: _read(table) for folder, table in tables.items() if table.is_file()}
        return {str(folder / name): row for folder, table in known.items() for name, row in table.items()}
    table = given if isinstance(given, Mapping) else _read(Path(given))
    return {os.path.abspath(name) if os.path.dirname(name) else name: row for name, row in table.items()}


def metadata_in(path: Path) -> dict[str, str]:
    """What the predictions file says itself."""
    file = open_arrays(path)
    return {name: text for name in NAMES if (text := text_of(path, file, name))}


def metadata_of(path: Path, table: Table, in_file: Mapping[str, str]) -> Metadata:
    """What is known of the model in the file at this absolute path; its name is the file's, without the suffix, where
    nobody gives another."""
    keys = (str(path), str(path.with_suffix("")), path.name, path.stem)
    row = next((table[key] for key in keys if key in table), {})
    said = {**in_file, **{name: row[name] for name in NAMES if row.get(name) not in (None, "")}}
    return Metadata(
        str(said.get("model", path.stem)),
        None if "family" not in said else str(said["family"]),
        None if "parameters" not in said else _count(path, said["parameters"]),
    )


def text_of(path: Path, file: ArrayFile, name: str) -> str:
    """What the file says under this name, nothing if it does not."""
    if name in file.metadata:
        return file.metadata[name]
    if name not in file.names:
        return ""
    array = file.read(name)
    if array.size != 1 or array.dtype.kind not in "Uiuf":
        raise ValueError(f"{path}: {name} has shape {array.shape} and dtype {array.dtype}; it needs one text or number")
    return str(array.reshape(())[()])


def _count(path: Path, parameters: Any) -> int:
    try:
        count = round(float(parameters))
    except (ValueError, TypeError, OverflowError):
        count = 0
    if count <= 0:
        raise ValueError(f"parameters of {path} is {parameters!r}; it needs a number, such as 11173962 or 1.1e7")
    return count


def _read(path: Path) -> Table:
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = csv.DictReader(file)
        if "file" not in (rows.fieldnames or ()):
            raise ValueError(f"{path} has no column 'file'; it needs it, and may have {', '.join(NAMES)}")
        return {str(row["file"]): row for row in rows}
