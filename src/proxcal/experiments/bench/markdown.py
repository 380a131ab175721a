"""The benchmark as a page: every comparison as ratios, what was left out and why, the machine, growth, the paper's
times, quality.

Ratios above 1 are in proxcal's favour, those below against it; both are shown.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from proxcal.experiments.bench.contest import Contest
from proxcal.experiments.bench.inference_stage import SEARCH, UNCALIBRATED
from proxcal.experiments.bench.quality import METRICS, PEER_LEFT_OUT, has_peer
from proxcal.experiments.bench.result import BenchResult, line_name, megabytes, processor, wall
from proxcal.experiments.bench.stages import STAGES
from proxcal.experiments.bench.workload import Workload
from proxcal.experiments.reproduce.printed import printed_times

UNKNOWN = "–"
_INFERENCE = "inference"
_SIZES = {"n": "samples", "n_columns": "features", "n_classes": "classes"}
_QUALITY = {
    "ece": "ECE",
    "piece_minus_floor": "PIECE − floor",
    "nll": "NLL",
    "multiclass_nll": "multiclass NLL",
    "accuracy": "accuracy",
}


def markdown(result: BenchResult, pictures: Sequence[str]) -> str:
    sections = [
        _head(result),
        _speed(result),
        _left_out(result),
        _beside(result),
        _growth(result, pictures),
        _paper(result),
        _quality(result),
    ]
    return "\n\n".join(filter(None, sections)) + "\n"


def number(value: float) -> str:
    """Three digits; nothing is known of NaN."""
    if not np.isfinite(value):
        return UNKNOWN
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def ratio(theirs: float, ours: float) -> str:
    return number(theirs / ours) if ours > 0 else UNKNOWN


def comparisons(result: BenchResult) -> Iterable[tuple[str, Contest, str, str | None]]:
    """Stage, its contest, one of ours, and each peer that it is compared with, or None where there is none; the paper's
    methods, which are not compared with each other, left out."""
    for stage, contest in result.stages.items():
        if stage != _INFERENCE:
            peers: list[Any] = [name for name in contest.samples if name not in contest.ours]
            yield from ((stage, contest, own, peer) for own in contest.ours for peer in peers or [None])


def _table(headers: Sequence[str], rows: Iterable[Sequence[str]], n_words: int = 1) -> str:
    """The first columns are words, the rest numbers."""
    rules = ["---" if i < n_words else "---:" for i in range(len(headers))]
    return "\n".join(f"| {' | '.join(row)} |" for row in (headers, rules, *rows))


def _head(result: BenchResult) -> str:
    settings, machine = result.settings, result.machine
    workload = Workload(*(settings[name] for name in Workload._fields))
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    facts = {
        "Workload": f"{settings['size']}: {workload}, simulated",
        "Turns": f"{settings['repeats']} of each contestant, one after the other, there and back; medians",
        "Machine": f"{machine['processor']}, {machine['cores']} cores, {machine['system']}",
        "Versions": f"Python {machine['python']}, {versions}",
        "Matrix products": "; ".join(f"{owner}: {blas}" for owner, blas in machine["blas"].items()),
        "Environment": ", ".join(f"{name}={value}" for name, value in machine["environment"].items()),
    }
    return "# proxcal bench\n\n" + "\n".join(f"- {name}: {fact}" for name, fact in facts.items() if fact)


def _speed(result: BenchResult) -> str:
    rows = [_comparison(*compared) for compared in comparisons(result)]
    if not rows:
        return ""
    costs = ("s", "CPU s", "MB")
    headers = ("stage", "beside", *costs, *(f"its {cost}" for cost in costs))
    headers += ("times faster", "times less CPU", "times less memory", "largest difference")
    what = "\n".join(f"- {name}: {STAGES[name].what}." for name in result.stages if name != _INFERENCE)
    return (
        "## Speed and memory\n\nOurs first, what it stands beside second. Seconds are wall time, CPU seconds those of"
        " all threads, memory is what the call added at its largest, its result included.\n\n"
        f"{_table(headers, rows, 2)}\n\n{what}"
    )


def _comparison(stage: str, contest: Contest, own: str, peer: str | None) -> list[str]:
    measures = (wall, processor, megabytes)
    ours = [measure(contest.samples[own]) for measure in measures]
    theirs = [np.nan] * 3 if peer is None else [measure(contest.samples[peer]) for measure in measures]
    difference = contest.differences.get(own, {}).get(peer or "", np.nan)
    return [
        line_name(stage, own),
        peer or UNKNOWN,
        *map(number, (*ours, *theirs)),
        *(ratio(*both) for both in zip(theirs, ours, strict=True)),
        number(difference),
    ]


def _left_out(result: BenchResult) -> str:
    found = [f"- {stage}, {name}: {why}" for stage, c in result.stages.items() for name, why in c.left_out.items()]
    if result.quality and not has_peer():
        found.append(f"- quality, {PEER_LEFT_OUT}")
    return "## Left out\n\n" + "\n".join(found) if found else ""


def _beside(result: BenchResult) -> str:
    if not result.stages:
        return ""
    rows = []
    for stage, contest in result.stages.items():
        rates = np.array(contest.rates)
        spread = max(max(s.wall for s in some) / min(s.wall for s in some) for some in contest.samples.values())
        rows.append([stage, *map(_range, rates.T), number(spread)])
    headers = ("stage", "sgemm, GFLOP/s", "copy, GB/s", "slowest / fastest turn")
    return (
        "## The machine beside each stage\n\nNumPy's float32 products on all its threads and copying on one, in each"
        " round: median (least to most). Where these differ, the machine was busy with something else.\n\n"
        + _table(headers, rows)
    )


def _range(rates: Any) -> str:
    return f"{number(float(np.median(rates)))} ({number(float(rates.min()))} to {number(float(rates.max()))})"


def _growth(result: BenchResult, pictures: Sequence[str]) -> str:
    if not result.growth:
        return ""
    lines: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for point in result.growth_points():
        lines.setdefault((point["stage"], point["axis"]), []).append(point)
    rows = [
        [stage, _SIZES[axis], f"{points[0]['value']:,} to {points[-1]['value']:,}"]
        + [cell for cost in ("seconds", "megabytes") for cell in (_ends(points, cost), _power(points, cost))]
        for (stage, axis), points in lines.items()
    ]
    headers = ("stage", "grows", "over", "s", "last power", "MB", "last power")
    shown = "\n".join(f"![{name.removesuffix('.png').replace('-', ' of ')}]({name})" for name in pictures)
    return (
        "## How cost grows\n\nThe last power is that of the last doubling: 1 is as the size, 2 as its square.\n\n"
        + "\n\n".join(filter(None, (shown, _table(headers, rows, 3))))
    )


def _ends(points: Sequence[dict[str, Any]], cost: str) -> str:
    return f"{number(points[0][cost])} to {number(points[-1][cost])}"


def _power(points: Sequence[dict[str, Any]], cost: str) -> str:
    powers = [
        np.log(after[cost] / before[cost]) / np.log(after["value"] / before["value"])
        for before, after in pairwise(points)
        if before[cost] > 0 and after[cost] > 0
    ]
    return f"{round(float(powers[-1]), 1) + 0:.1f}" if powers else UNKNOWN


def _paper(result: BenchResult) -> str:
    """Milliseconds a sample; what a method adds to the uncalibrated confidence, in searches."""
    if _INFERENCE not in result.stages:
        return ""
    samples = result.stages[_INFERENCE].samples
    ours = {name: 1000 * wall(some) / result.settings["n"] for name, some in samples.items()}
    papers = {name: float(milliseconds) for name, milliseconds in printed_times().items()}
    rows = [
        [
            name,
            *(cell for of in (papers, ours) for cell in (number(of.get(name, np.nan)), _added(of, name))),
        ]
        for name in ours
    ]
    headers = ("method", "paper, ms", "adds, in searches", "here, ms", "adds, in searches")
    return (
        "## The paper's published times\n\nIts table of inference times a sample (ImageNet, ViT-B/16, one GTX 2080 Ti;"
        f" {UNCALIBRATED}'s time is the network's) is of another machine and another number of references: no"
        " millisecond of it compares with one of ours, which begin where the network ends. What can be compared, and"
        f" loosely, is what a method adds to {UNCALIBRATED} in units of the neighbour search ({SEARCH}) of the same"
        " machine. Ours give whole rows.\n\n" + _table(headers, rows)
    )


def _added(milliseconds: dict[str, float], name: str) -> str:
    if name in (SEARCH, UNCALIBRATED) or name not in milliseconds:
        return UNKNOWN
    return number(round((milliseconds[name] - milliseconds[UNCALIBRATED]) / milliseconds[SEARCH], 2) + 0.0)


def _quality(result: BenchResult) -> str:
    if not result.quality:
        return ""
    files = list(result.quality.values())
    calibrators = [name for name in files[0]["calibrators"] if all(name in of["calibrators"] for of in files)]
    rows = [
        [name, *(number(float(np.mean([of["calibrators"][name][metric] for of in files]))) for metric in METRICS)]
        for name in calibrators
    ]
    many = f"means over {len(files)} files" if len(files) > 1 else next(iter(result.quality))
    n_seeds = len(files[0]["seeds"])
    return (
        f"## Quality\n\nOn the other half of {n_seeds} random halves: {many}. ECE, PIECE and NLL are those of the top"
        " label; PIECE − floor is what is not noise; lower is better but for accuracy.\n\n"
        + _table(("calibrator", *(_QUALITY[metric] for metric in METRICS)), rows)
    )
