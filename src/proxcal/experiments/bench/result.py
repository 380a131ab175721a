"""What a benchmark found, in the JSON file that it is kept in as it comes: a kill loses the stage at hand, no more.

The file says how and where it was measured. One that was measured otherwise is never added to: times of two machines,
or of two versions, are no ratio.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np

from proxcal._files import atomic_write
from proxcal.experiments.bench.contest import Contest, Point
from proxcal.experiments.bench.measuring import Sample

SCHEMA = 1


@dataclass
class BenchResult:
    """`stages` has every sample of every contestant; `growth`, by stage and size that grows, those of ours; `quality`,
    by file, the errors of each calibrator and the `fingerprint` of the file's content."""

    settings: dict[str, Any]
    machine: dict[str, Any]
    stages: dict[str, Contest] = field(default_factory=dict)
    growth: dict[str, dict[str, list[Point]]] = field(default_factory=dict)
    quality: dict[str, dict[str, Any]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "settings": self.settings,
            "machine": self.machine,
            "stages": {name: contest.to_dict() for name, contest in self.stages.items()},
            "growth": {
                name: {axis: [point.to_dict() for point in points] for axis, points in axes.items()}
                for name, axes in self.growth.items()
            },
            "quality": self.quality,
        }

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=1)

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> Self:
        return cls(
            kept["settings"],
            kept["machine"],
            {name: Contest.from_dict(contest) for name, contest in kept["stages"].items()},
            {
                name: {axis: [Point.from_dict(point) for point in points] for axis, points in axes.items()}
                for name, axes in kept["growth"].items()
            },
            kept["quality"],
        )

    def sort(self, stages: Iterable[str]) -> None:
        """Into this order, whichever was measured first."""
        order = list(stages)
        self.stages = dict(sorted(self.stages.items(), key=lambda item: order.index(item[0])))
        self.growth = dict(sorted(self.growth.items(), key=lambda item: order.index(item[0])))

    def save(self, path: Path) -> None:
        with atomic_write(path, overwrite=True) as temporary:
            temporary.write_text(self.to_json(), encoding="utf-8")

    def growth_points(self) -> list[dict[str, Any]]:
        """Medians, as `GrowthDisplay` takes them."""
        return [
            {
                "stage": line_name(stage, point.name),
                "axis": axis,
                "value": point.value,
                "seconds": wall(point.samples),
                "megabytes": megabytes(point.samples),
            }
            for stage, axes in self.growth.items()
            for axis, points in axes.items()
            for point in points
        ]


def begun(path: Path, settings: Mapping[str, Any], machine: Mapping[str, Any]) -> BenchResult:
    """What is in the file, which must have been measured with these settings on this machine."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        if kept["schema"] != SCHEMA:
            raise ValueError(f"its schema is {kept['schema']!r}, not {SCHEMA}")
        result = BenchResult.from_dict(kept)
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(f"{path} does not hold results of a benchmark ({error}); {_ANEW}") from None
    for said, before, now in (("settings", result.settings, settings), ("machine", result.machine, machine)):
        for name in dict.fromkeys([*now, *before]):
            if before.get(name) != now.get(name):
                raise ValueError(
                    f"{path} was measured with {said} in which {name} is {before.get(name)!r}; now it is"
                    f" {now.get(name)!r}: {_ANEW}"
                )
    return result


_ANEW = "give another folder, or pass overwrite=True (--force on the command line) to start anew"


def line_name(stage: str, contestant: str) -> str:
    """One of ours, as a stage: "density-ratio, grid"."""
    return stage + contestant.removeprefix("proxcal")


def wall(samples: list[Sample]) -> float:
    return float(np.median([sample.wall for sample in samples]))


def processor(samples: list[Sample]) -> float:
    return float(np.median([sample.processor for sample in samples]))


def megabytes(samples: list[Sample]) -> float:
    """NaN where it could not be measured."""
    peaks = [sample.peak for sample in samples if sample.peak is not None]
    return float(np.median(peaks)) / 1e6 if peaks else np.nan
