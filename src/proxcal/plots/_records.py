"""Results of many models as the pictures take them: records or columns in, checked rows of what a picture needs out.

A sequence of mappings, named tuples or dataclasses, a mapping of columns, or a data frame; texts of a CSV file are read
as numbers. What is None, NaN or empty is not known.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from typing import Any

import numpy as np

Results = Mapping[str, Sequence[Any]] | Iterable[Any]
Row = dict[str, Any]


def rows(results: Results, texts: Sequence[str], numbers: Sequence[str], optional: Sequence[str] = ()) -> list[Row]:
    """A dictionary a record with these texts and numbers, `optional` names among them; records without a number that
    is not optional are left out."""
    records = _records(results)
    needed = [name for name in (*texts, *numbers) if name not in optional]
    for name in needed:
        if not any(name in record for record in records):
            raise ValueError(f"results has no column {name!r}; this picture needs {', '.join(needed)}")
    read = [_row(i, record, texts, numbers) for i, record in enumerate(records)]
    known = [row for row in read if all(row[name] is not None for name in needed)]
    if not known:
        raise ValueError(f"results has no record with {', '.join(needed)}, of {len(records)} records")
    return known


def _row(i: int, record: Mapping[str, Any], texts: Sequence[str], numbers: Sequence[str]) -> Row:
    row: Row = {name: _text(record.get(name)) for name in texts}
    return row | {name: _number(name, i, record.get(name)) for name in numbers}


def _records(results: Results) -> list[Mapping[str, Any]]:
    if isinstance(results, Mapping) or hasattr(results, "columns"):
        columns = {str(name): list(results[name]) for name in results}  # type: ignore[index]
        lengths = {name: len(values) for name, values in columns.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"results has columns of unequal length: {lengths}")
        return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    return [_as_mapping(i, record) for i, record in enumerate(results)]


def _as_mapping(i: int, record: Any) -> Mapping[str, Any]:
    if isinstance(record, Mapping):
        return record
    if hasattr(record, "_asdict"):
        return dict(record._asdict())
    if is_dataclass(record) and not isinstance(record, type):
        return asdict(record)
    raise ValueError(f"results has a {type(record).__name__} in row {i}; a record maps names to values")


def _text(value: Any) -> str | None:
    return None if value is None or value == "" or value != value else str(value)


def _number(name: str, i: int, value: Any) -> float | None:
    if value is None or value == "":
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"results has {value!r} as {name} in row {i}; it needs a number") from None
    if np.isinf(number):
        raise ValueError(f"results has {value!r} as {name} in row {i}; it needs a finite number")
    return None if np.isnan(number) else number
