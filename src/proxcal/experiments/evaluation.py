"""What an evaluation found: every value, each pair compared, and which informed calibrator each fit came to."""

import csv
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

from proxcal._files import atomic_write
from proxcal.experiments.split import Pair

Method = Literal["base", "ours"]
SIGNIFICANT = 0.1  # the paper's level


class Record(NamedTuple):
    """One metric of one method on one split; `seed` is None for a split that was given."""

    file: str
    seed: int | None
    base: str
    method: Method
    metric: str
    value: float


class Choice(NamedTuple):
    """The informed calibrator of one fit, the reason where `informed="auto"` chose it, of a base that may change
    predictions its `accuracy_change_`, and what `base="auto"` came to."""

    file: str
    seed: int | None
    base: str
    informed: str
    reason: str | None
    accuracy_change: Mapping[str, float] | None = None
    base_chosen: str | None = None


@dataclass(frozen=True)
class Comparison:
    """A metric's mean over splits, base alone and with proximity; `file` is None for the mean over all files.

    `better` is None where both are equal.
    """

    file: str | None
    base: str
    metric: str
    base_value: float
    ours_value: float
    better: Method | None
    p_value: float

    @property
    def significant(self) -> bool:
        return self.p_value < SIGNIFICANT


@dataclass(frozen=True, eq=False)
class Evaluation:
    """`records` are tidy, a value a row; `summary` compares; `informed` says what was chosen; `test` names the paired
    test; with the paper's settings MCE is weighted by the bins' shares. `pairs` holds, for a split that was given, the
    calibrators and what they said of each test sample, by base."""

    records: Sequence[Record]
    summary: Sequence[Comparison]
    informed: Sequence[Choice]
    test: str
    weighted_mce: bool
    pairs: Mapping[str, Pair]

    def of(self, file: str | None, base: str) -> dict[str, Comparison]:
        """The comparisons of one file (None: the mean over all) and base, by metric."""
        return {c.metric: c for c in self.summary if (c.file, c.base) == (file, base)}

    def to_dict(self) -> dict[str, Any]:
        return {
            "test": self.test,
            "weighted_mce": self.weighted_mce,
            "summary": [asdict(c) | {"significant": c.significant} for c in self.summary],
            "informed": [c._asdict() for c in self.informed],
            "records": [r._asdict() for r in self.records],
        }

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=1)

    def to_csv(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the records, a row each."""
        with atomic_write(path, overwrite) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(Record._fields)
            writer.writerows(self.records)
