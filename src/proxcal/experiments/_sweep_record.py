"""One row of a sweep's results: what one calibrator did for one model on one random split; and its text in a CSV file.

Every value that is not known is None, and an empty cell. Floats are written in full, so what is read back is what was
written, to the bit; a text keeps to one line, so that a row is one line of the file.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, get_args, get_type_hints


class SweepRecord(NamedTuple):
    """`calibrator` is a base ("identity" is the model as it came) or, with "+ours" behind it, a base corrected by
    proximity; `seed` drew the split. `fingerprint` is the SHA-256 of the file. The bias index has its 95 % interval and
    the p-value of its test. `notes` are warnings; with an `error` there are no numbers."""

    model: str
    file: str
    family: str | None = None
    parameters: int | None = None
    seed: int | None = None
    calibrator: str | None = None
    informed: str | None = None
    n_calibration: int | None = None
    n_test: int | None = None
    bias_index: float | None = None
    bias_low: float | None = None
    bias_high: float | None = None
    p_value: float | None = None
    n_pairs: int | None = None
    accuracy: float | None = None
    ece: float | None = None
    ace: float | None = None
    mce: float | None = None
    piece: float | None = None
    piece_minus_floor: float | None = None
    nll: float | None = None
    brier: float | None = None
    multiclass_nll: float | None = None
    notes: str | None = None
    error: str | None = None
    fingerprint: str | None = None
    settings: str | None = None

    @property
    def key(self) -> tuple[str | None, int | None, str | None]:
        """What a sweep does once."""
        return self.fingerprint, self.seed, self.calibrator


KINDS: dict[str, type] = {
    name: hint if isinstance(hint, type) else get_args(hint)[0] for name, hint in get_type_hints(SweepRecord).items()
}


def lines(rows: Iterable[Sequence[Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([" ".join(v.split()) if isinstance(v, str) else v for v in row] for row in rows)
    return text.getvalue()


HEADER = lines([SweepRecord._fields])


def parse(cells: Sequence[str]) -> SweepRecord:
    """A row of the file; ValueError where it is none."""
    values: Iterator[Any] = (kind(cell) if cell else None for kind, cell in zip(KINDS.values(), cells, strict=True))
    return SweepRecord(*values)
