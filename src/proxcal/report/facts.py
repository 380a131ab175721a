"""All that an audit found, as plain values: the page, the table and the JSON are three ways to show it.

What could not be computed is None, and a reason says why; nothing is NaN. Arrays that the pictures are drawn from are
kept beside the facts and left out of the JSON.
"""

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

from proxcal._files import atomic_write
from proxcal._validation import Array
from proxcal.bias import OverfittingByProximity
from proxcal.experiments import Outcome
from proxcal.metrics import MetricInterval, PairedDifference

N_GROUPS = 5
Status = Literal["bias", "reverse bias", "none found", "inconclusive"]


@dataclass(frozen=True)
class Bias:
    """The bias index of one stage and its test; see `proxcal.bias_test`."""

    bias_index: float
    low: float
    high: float
    p_value: float
    adjusted_index: float
    n_pairs: int
    accuracy_low: float
    accuracy_high: float
    confidence_low: float
    confidence_high: float
    overlap: float
    n_groups: int
    matching: str
    test: str


@dataclass(frozen=True)
class Group:
    """One fifth of the test samples by proximity; `low` and `high` are the 95 % interval of its accuracy."""

    count: int
    proximity: float
    accuracy: float
    low: float
    high: float
    confidence: float
    gap: float


@dataclass(frozen=True)
class Share:
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Along:
    """Kuiper's statistic of the differences accumulated along proximity, and its p-value were the model calibrated;
    `n_steps` is how many proximities there are."""

    kuiper: float
    p_value: float
    n_steps: int


@dataclass(frozen=True)
class Verdict:
    status: Status
    headline: str
    text: str


@dataclass(frozen=True, eq=False)
class Stage:
    """What was found of one confidence: the model's own, the base calibrator's, or ProCal's.

    `bias` and `groups` are None where `reason` says that they cannot be told. `changed` is the share of predictions
    that are not the model's.
    """

    name: str
    title: str
    verdict: Verdict
    accuracy: Share
    confidence: float
    changed: float
    bias: Bias | None
    groups: Sequence[Group] | None
    reason: str | None
    along_proximity: Along
    metrics: Mapping[str, MetricInterval]
    outcome: Outcome = field(repr=False)

    @property
    def lower_title(self) -> str:
        """Within a sentence."""
        return self.title[0].lower() + self.title[1:]


@dataclass(frozen=True, eq=False)
class Sample:
    """A wrong prediction of low proximity; `row` counts from 0 in the file, `confidence` is by stage."""

    row: int
    id: int | str | None
    proximity: float
    predicted: int
    label: int
    confidence: Mapping[str, float]
    image: Array | None = field(default=None, repr=False)


@dataclass(frozen=True, eq=False)
class Audit:
    """The facts of an audit. `before` and `after` are the last two stages: the base calibrator and ProCal.

    `comparison` is after against before, by metric; `correction` what ProCal chose and why; `accuracy_change` what a
    base that may change predictions expected of it; `limits` what cannot be concluded.
    """

    summary: str
    stages: Sequence[Stage]
    comparison: Mapping[str, PairedDifference]
    correction: Mapping[str, Any]
    accuracy_change: Mapping[str, float] | None
    overconfident: Sequence[Sample]
    overfitting: OverfittingByProximity | None
    limits: Sequence[str]
    samples: Mapping[str, int]
    settings: Mapping[str, Any]
    sources: Mapping[str, Mapping[str, str | None]]
    versions: Mapping[str, str]
    command: str

    @property
    def before(self) -> Stage:
        return self.stages[-2]

    @property
    def after(self) -> Stage:
        return self.stages[-1]

    def to_dict(self) -> dict[str, Any]:
        return {each.name: _plain(getattr(self, each.name)) for each in fields(self)}

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=1, allow_nan=False)

    def to_html(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the page: one file that needs no network."""
        from proxcal.report.page import render  # noqa: PLC0415 (matplotlib costs only those who draw)

        with atomic_write(path, overwrite) as temporary:
            temporary.write_text(render(self), encoding="utf-8")


def _plain(value: Any) -> Any:
    """Plain values for JSON, the arrays behind the pictures left out."""
    if isinstance(value, Stage | Sample):
        hidden = ("outcome", "image")
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value) if each.name not in hidden}
    if hasattr(value, "__dataclass_fields__"):
        return _plain(asdict(value))
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    value = value.tolist() if hasattr(value, "tolist") else value
    return None if isinstance(value, float) and not math.isfinite(value) else value
