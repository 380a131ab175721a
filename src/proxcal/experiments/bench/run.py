"""`proxcal bench`: stages in turn, how their cost grows, quality, and what is written of them.

Every stage is kept as soon as it is done; the table and the pictures are made from what is kept, so they can be made
again without measuring.
"""

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from proxcal._files import atomic_write, check_writable
from proxcal._validation import check_choice, check_integer
from proxcal.bundle import Predictions
from proxcal.experiments._setup import check_complete
from proxcal.experiments.bench.contest import run_contest, run_growth
from proxcal.experiments.bench.machine import machine
from proxcal.experiments.bench.markdown import markdown
from proxcal.experiments.bench.quality import run_quality
from proxcal.experiments.bench.result import BenchResult, begun
from proxcal.experiments.bench.stages import SIZES, STAGES, Size

QUALITY = "quality"
PARTS = (*STAGES, QUALITY)
RESULTS, TABLE = "bench.json", "bench.md"
PICTURES = {"growth-time.png": "seconds", "growth-memory.png": "megabytes"}

Progress = Callable[[int, int, str], None]
_Unit = tuple[str, Callable[[Callable[[str], None]], None]]


def bench(
    folder: str | os.PathLike[str],
    predictions: Mapping[str, Predictions] | None = None,
    *,
    size: str | Size = "small",
    only: Sequence[str] | None = None,
    repeats: int | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> BenchResult:
    """Measure speed, memory and quality beside the peers that are installed; write bench.json, bench.md and pictures.

    Parameters
    ----------
    folder : takes the files, and is made if it is missing. What a benchmark of the same settings on the same machine
        left there, killed or not, is gone on from: what was measured is not measured again.
    predictions : by name, with labels and features: what quality is measured on; none, no quality.
    size : "small" or "paper".
    only : names of stages, and "quality"; all unless given.
    repeats : turns of each contestant; 5 at size "small" and 3 at size "paper" unless given.
    overwrite : start anew, whatever is in the folder.
    progress : called with the number of parts done, that in all, and what comes.
    """
    size = size if isinstance(size, Size) else SIZES[check_choice("size", size, tuple(SIZES))]
    turns = size.repeats if repeats is None else check_integer("repeats", repeats, at_least=1)
    chosen = dict.fromkeys(check_choice("only", name, PARTS) for name in (PARTS if only is None else only))
    if not chosen:
        raise ValueError(f"only is empty; name one or more of {', '.join(PARTS)}")
    predictions = _check_predictions(predictions, only)
    result = _start(Path(folder), size, turns, overwrite)
    units = [
        *(unit for name in chosen if name in STAGES for unit in _stage_units(name, size, turns, result)),
        *_quality_units(predictions, size, result),
    ]
    for done, (name, measure) in enumerate(units):
        tell = (lambda text, done=done: progress(done, len(units), text)) if progress else _silently
        tell(name)
        measure(tell)
        result.sort(STAGES)
        result.save(Path(folder) / RESULTS)
    _write(Path(folder), result)
    return result


def _check_predictions(
    predictions: Mapping[str, Predictions] | None, only: Sequence[str] | None
) -> Mapping[str, Predictions]:
    if predictions is None:
        if only is not None and QUALITY in only:
            raise ValueError("only has quality, which needs predictions; give them, by name")
        return {}
    if only is not None and QUALITY not in only:
        raise ValueError("predictions are what quality is measured on, which only leaves out; add 'quality' to it")
    for name, given in predictions.items():
        check_complete(name, given)
    return predictions


def _silently(_: str) -> None:
    pass


def _start(folder: Path, size: Size, repeats: int, overwrite: bool) -> BenchResult:
    """What is there to go on from, or a result to be filled; every output can be written."""
    folder.mkdir(exist_ok=True)
    settings = {"size": size.name, **size.workload._asdict(), "repeats": repeats}
    peers = [peer.package for stage in STAGES.values() for peer in stage.peers if peer.package]
    here = machine(peers)
    known = (folder / RESULTS).exists() and not overwrite
    for name in (RESULTS, TABLE, *PICTURES):
        check_writable(folder / name, overwrite or known)
    return begun(folder / RESULTS, settings, here) if known else BenchResult(settings, here)


def _stage_units(name: str, size: Size, repeats: int, result: BenchResult) -> list[_Unit]:
    """What is not yet measured of a stage."""
    stage, units = STAGES[name], list[_Unit]()
    if name not in result.stages:

        def contest(tell: Callable[[str], None]) -> None:
            result.stages[name] = run_contest(stage, size.workload, repeats, tell)

        units.append((name, contest))
    for axis in stage.grows_with:
        if axis not in result.growth.get(name, {}):
            units.append((name, _growing(name, axis, size, repeats, result)))
    return units


def _growing(
    name: str, axis: str, size: Size, repeats: int, result: BenchResult
) -> Callable[[Callable[[str], None]], None]:
    def grow(tell: Callable[[str], None]) -> None:
        points = run_growth(STAGES[name], size.workload, axis, size.growing(axis), repeats, result.stages[name], tell)
        result.growth.setdefault(name, {})[axis] = points

    return grow


def _quality_units(predictions: Mapping[str, Predictions], size: Size, result: BenchResult) -> list[_Unit]:
    """Of the files that are new or have another content than before."""

    def unit(name: str, fingerprint: str) -> _Unit:
        def measure(tell: Callable[[str], None]) -> None:
            tell(f"quality: {name}")
            rows = run_quality(predictions[name], size.seeds)
            result.quality[name] = {"fingerprint": fingerprint, "seeds": list(size.seeds), "calibrators": rows}

        return f"quality: {name}", measure

    prints = {name: _fingerprint(given) for name, given in predictions.items()}
    return [
        unit(name, found) for name, found in prints.items() if result.quality.get(name, {}).get("fingerprint") != found
    ]


def _fingerprint(predictions: Predictions) -> str:
    digest = hashlib.sha256()
    for array in (predictions.scores, predictions.labels, predictions.features):
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _write(folder: Path, result: BenchResult) -> None:
    """All that is made from the results; a picture is left out where nothing is known to draw."""
    from proxcal.plots.growth import GrowthDisplay  # noqa: PLC0415 (matplotlib costs only those who get here)

    drawn: dict[str, Any] = {}
    points = result.growth_points()
    for name, cost in PICTURES.items():
        if any(np.isfinite(point[cost]) for point in points):
            drawn[name] = GrowthDisplay.from_results(points, cost).figure_  # type: ignore[arg-type]
    for name, figure in drawn.items():
        with atomic_write(folder / name, overwrite=True) as temporary:
            figure.savefig(temporary, dpi=120)
    with atomic_write(folder / TABLE, overwrite=True) as temporary:
        temporary.write_text(markdown(result, list(drawn)), encoding="utf-8")
