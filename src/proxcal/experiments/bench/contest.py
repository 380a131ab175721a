"""Who is faster, fairly: contestants take turns in one process, there and back, and medians are compared.

Before the first turn each runs once on a small workload, so that imports, compilers and buffers are in nobody's time;
who cannot is left out, and why is kept. In every round the machine's own rates are measured beside. As the machine
grows slower or faster, so it does for all.
"""

import io
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from proxcal.experiments.bench.measuring import Sample, machine_rates, measured
from proxcal.experiments.bench.stage import Contestant, Stage
from proxcal.experiments.bench.workload import Workload

SMALL = Workload(300, 8, 4)
LONG = 1.0  # seconds: a workload of the growth that took one contestant so long is run once
Move = Callable[[str], None]


@dataclass(frozen=True)
class Contest:
    """Every sample of each contestant by name, ours first; `differences` holds, by ours and by peer, the largest
    between their answers; `left_out` says why."""

    samples: dict[str, list[Sample]]
    ours: list[str]
    differences: dict[str, dict[str, float]]
    rates: list[tuple[float, float]]
    left_out: dict[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"samples": _plain(self.samples)}

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> "Contest":
        return cls(**{**kept, "samples": {name: _samples(some) for name, some in kept["samples"].items()}})


@dataclass(frozen=True)
class Point:
    """What one of ours took where `axis`, a field of the workload, had this value."""

    name: str
    axis: str
    value: int
    samples: list[Sample]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"samples": [sample._asdict() for sample in self.samples]}

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> "Point":
        return cls(**{**kept, "samples": _samples(kept["samples"])})


def run_contest(stage: Stage, workload: Workload, repeats: int, move: Move) -> Contest:
    move(f"{stage.name}: warming up")
    contestants, left_out = _ready(stage)
    inputs = _inputs(stage, workload)
    samples: dict[str, list[Sample]] = {contestant.name: [] for contestant in contestants}
    answers: dict[str, Any] = {}
    rates = []
    for turn in range(repeats):
        for contestant in contestants[:: -1 if turn % 2 else 1]:
            move(f"{stage.name}: {contestant.name}")
            sample, answer = _turn(contestant, inputs, wants_answer=turn == 0)
            samples[contestant.name].append(sample)
            if answer is not None:
                answers[contestant.name] = answer
        rates.append(tuple(machine_rates()))
    ours = [contestant.name for contestant in stage.ours]
    return Contest(samples, ours, _differences(ours, answers), rates, left_out)


def _inputs(stage: Stage, workload: Workload) -> Any:
    with _quietly():
        return stage.inputs(workload)


def _turn(contestant: Contestant, inputs: Any, *, wants_answer: bool) -> tuple[Sample, Any]:
    with _quietly():
        sample, result = measured(lambda: contestant.run(inputs))
        answers = wants_answer and contestant.answer is not None
        return sample, contestant.answer(inputs, result) if answers else None  # type: ignore[misc]


def _ready(stage: Stage) -> tuple[list[Contestant], dict[str, str]]:
    """The contestants that run, and of the peers that do not, why."""
    small = _inputs(stage, SMALL)
    ready, left_out = list(stage.ours), {}
    with _quietly():
        for contestant in stage.ours:
            contestant.run(small)
        for peer in stage.peers:
            if not peer.is_installed:
                left_out[peer.name] = f"not installed: pip install {peer.package}"
                continue
            try:
                peer.run(small)
                ready.append(peer)
            except Exception as error:  # whatever a library of others may raise
                left_out[peer.name] = f"failed: {type(error).__name__}: {' '.join(str(error).split())}"
    return ready, left_out


@contextmanager
def _quietly() -> Iterator[None]:
    """What is printed and warned of while samples are made up has no place in the results."""
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        yield


def _differences(ours: Sequence[str], answers: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    return {
        own: {
            other: float(np.abs(np.asarray(answers[own]) - np.asarray(answer)).max())
            for other, answer in answers.items()
            if other != own
        }
        for own in ours
        if own in answers
    }


def run_growth(
    stage: Stage, workload: Workload, axis: str, values: Sequence[int], repeats: int, contest: Contest, move: Move
) -> list[Point]:
    """What ours take as one field of the workload grows; where it has the workload's own value, that is known from the
    contest."""
    points = []
    for value in values:
        if value == getattr(workload, axis):
            points += [Point(name, axis, value, contest.samples[name]) for name in contest.ours]
            continue
        move(f"{stage.name}: {axis} {value:,}")
        inputs = _inputs(stage, workload._replace(**{axis: value}))
        taken: dict[str, list[Sample]] = {contestant.name: [] for contestant in stage.ours}
        for _ in range(repeats):
            for contestant in stage.ours:
                so_far = taken[contestant.name]
                if not so_far or so_far[0].wall < LONG:
                    so_far.append(_turn(contestant, inputs, wants_answer=False)[0])
        points += [Point(name, axis, value, some) for name, some in taken.items()]
    return points


def _plain(samples: Mapping[str, Sequence[Sample]]) -> dict[str, list[dict[str, Any]]]:
    return {name: [sample._asdict() for sample in some] for name, some in samples.items()}


def _samples(kept: Sequence[Mapping[str, Any]]) -> list[Sample]:
    return [Sample(**sample) for sample in kept]
