"""The paper's large comparison (its figures 2 and 3): many models' predictions files, calibrators and random splits.

Each file is split at random, once a seed; one neighbour search a split serves all its calibrators. A unit of work is
one file and one seed; its rows are kept before the next are, so what was done is not done again (`_results_file`). What
a file holds is known by its SHA-256, not by its name or its date.
"""

import hashlib
import json
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from proxcal._validation import ProxcalWarning, check_integer, check_number
from proxcal.bias import bias_test
from proxcal.bundle import Predictions
from proxcal.experiments._engines import Engine, check_engine
from proxcal.experiments._metadata import Metadata, Table, metadata_in, metadata_of, metadata_table
from proxcal.experiments._results_file import ResultsFile
from proxcal.experiments._setup import Bases, check_bases, check_complete, check_seeds, make_calibrators
from proxcal.experiments._sweep_record import SweepRecord
from proxcal.experiments.evaluate import SEEDS, Progress
from proxcal.experiments.measures import measure
from proxcal.experiments.split import Outcome, informed_name, run_split
from proxcal.experiments.zoo import OURS, RAW, Sweep
from proxcal.procal import ProCal

FilePath = str | os.PathLike[str]


class _File(NamedTuple):
    path: Path
    fingerprint: str
    about: Metadata


class _Unit(NamedTuple):
    file: _File
    seed: int
    calibrators: frozenset[str]


class _Plan(NamedTuple):
    """What is done with every unit: `bases` by name, and the calibrators each comes to."""

    bases: Mapping[str, Any]
    calibrators: Mapping[str, tuple[str, ...]]
    fraction: float
    paper: bool
    prefix: str
    settings: Mapping[str, Any]
    described: str


def sweep(
    files: Sequence[FilePath],
    *,
    bases: Bases = ("temperature",),
    seeds: Sequence[int] = SEEDS[:1],
    fraction: float = 0.5,
    paper: bool = False,
    prefix: str = "",
    metadata: FilePath | Table | None = None,
    output: FilePath | None = None,
    overwrite: bool = False,
    jobs: int | None = None,
    engine: Engine = "processes",
    progress: Progress | None = None,
    **settings: Any,
) -> Sweep:
    """Bias index and calibration errors of many models: as they came, and after each calibrator.

    A file that cannot be used is told of by a ProxcalWarning and left out; so is each one whose content another has.

    Parameters
    ----------
    files : predictions files, one a model, with labels and features.
    bases : as for `evaluate`; each alone and corrected by proximity. The model as it came, "identity", is always there.
    seeds, fraction : one random split a seed, with this share for calibration.
    paper : the paper's settings for each base, its matching in the bias test, and its weighted MCE.
    prefix : what precedes the arrays' names in the files.
    metadata : a table, or the path of one in CSV with a column `file` and any of `model`, `family`, `parameters`; the
        metadata.csv beside the files, if there is one, unless given.
    output : .csv or .parquet that takes the rows as they come. What an earlier sweep with the same settings left there,
        killed or not, is gone on from; files with an error are tried again.
    overwrite : start anew in `output`, whatever is there.
    jobs : so many units at once: processes, which share the processors, or Ray's tasks. Unless told, one process, or as
        many tasks as the cluster has processors.
    engine : "processes" of this machine, or "ray" (the `ray` extra): tasks of one processor each on any machine of the
        Ray cluster that this process is in, which see the files under the same paths. What is found is the same.
    progress : called before the first and after each file and seed, with the number done, that in all, and its name.
    settings : of `ProCal`: informed, rows, n_neighbors, metric, normalize, index, random_state.
    """
    seeds = check_seeds(seeds)
    run_units = check_engine(engine)
    jobs = None if jobs is None else check_integer("jobs", jobs, at_least=1)
    plan = _plan(bases, check_number("fraction", fraction, above=0, at_most=1), paper, prefix, settings)
    paths = _paths(files)
    table = metadata_table(metadata, paths)
    results = None if output is None else ResultsFile(output, json.loads(plan.described), overwrite=overwrite)
    known, errors = _known(paths, table, plan)
    kept = [] if results is None else _kept(results.kept, known, {error.file for error in errors})
    units = list(_units(known, seeds, plan, {row.key for row in kept}))
    n_units = len(known) * len(seeds)
    done = n_units - len(units)
    if progress is not None:
        progress(done, n_units, "")
    rows = [*kept, *errors]
    with nullcontext() if results is None else results.start(rows):
        _tell(errors)
        for unit_rows in run_units(partial(_run, plan), units, jobs):
            rows += unit_rows
            if results is not None:
                results.append(unit_rows)
            _tell(unit_rows)
            done += 1
            if progress is not None:
                progress(done, n_units, unit_rows[0].model)
    rows.sort(key=lambda row: (row.file, -1 if row.seed is None else row.seed))
    if results is not None:
        results.finish(rows)
    asked = [row for row in rows if row.file in {str(path) for path in paths}]
    return _found(asked, seeds, plan)


def _paths(files: Sequence[FilePath]) -> list[Path]:
    if isinstance(files, str) or not len(files):
        raise ValueError(f"files must be a list of one predictions file or more; got {files!r}")
    return sorted({Path(os.path.abspath(file)) for file in files})


def _plan(bases: Bases, fraction: float, paper: bool, prefix: str, settings: Mapping[str, Any]) -> _Plan:
    named = check_bases(bases)
    calibrators = make_calibrators(named, paper=paper, **settings)
    methods: dict[str, tuple[str, ...]] = {RAW: (RAW,)}
    for name, calibrator in calibrators.items():
        methods[name] = (name,) if calibrator.informed is None else (name, name + OURS)
    described = {"proxcal": version("proxcal"), "fraction": fraction, "paper": paper, "prefix": prefix}
    described |= {f"base {name}": _described(base) for name, base in named.items() if not isinstance(base, str)}
    of_all = (ProCal.paper if paper else ProCal)(**settings).get_params(deep=False)
    described |= {name: _described(value) for name, value in of_all.items() if name not in ("base", "input")}
    return _Plan(named, methods, fraction, paper, prefix, settings, json.dumps(described))


def _described(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return " ".join(repr(value).split()) if hasattr(value, "get_params") else type(value).__name__


def _known(paths: Sequence[Path], table: Table, plan: _Plan) -> tuple[list[_File], list[SweepRecord]]:
    """The files with their content's fingerprint, and errors of those that cannot be read or are there twice."""
    known: dict[str, _File] = {}
    errors = []
    for path in paths:
        try:
            about = metadata_of(path, table, metadata_in(path))
            with path.open("rb") as file:
                fingerprint = hashlib.file_digest(file, "sha256").hexdigest()
            if fingerprint in known:
                raise ValueError(f"{path} has the same content as {known[fingerprint].path}; give each once")
            known[fingerprint] = _File(path, fingerprint, about)
        except Exception as error:
            errors.append(_failed(SweepRecord(path.stem, str(path), settings=plan.described), error))
    return list(known.values()), errors


def _failed(row: SweepRecord, error: Exception) -> SweepRecord:
    message = str(error) if isinstance(error, (ValueError, OSError)) else f"{type(error).__name__}: {error}"
    return row._replace(error=message)


def _kept(rows: Iterable[SweepRecord], known: Sequence[_File], unreadable: set[str]) -> list[SweepRecord]:
    """Rows of before, with what is known of the files now; without the errors of files that are tried again."""
    by_fingerprint = {file.fingerprint: file for file in known}
    tried = unreadable | {str(file.path) for file in known}
    kept = []
    for row in rows:
        file = by_fingerprint.get(row.fingerprint or "")
        if row.error is None and file is not None:
            kept.append(row._replace(file=str(file.path), **file.about._asdict()))
        elif row.file not in tried:
            kept.append(row)
    return kept


def _units(known: Sequence[_File], seeds: Sequence[int], plan: _Plan, done: set[tuple[Any, ...]]) -> Iterator[_Unit]:
    calibrators = dict.fromkeys(name for names in plan.calibrators.values() for name in names)
    for file in known:
        for seed in seeds:
            missing = frozenset(name for name in calibrators if (file.fingerprint, seed, name) not in done)
            if missing:
                yield _Unit(file, seed, missing)


def _run(plan: _Plan, unit: _Unit) -> list[SweepRecord]:
    """A row for each of the unit's calibrators, or one with what went wrong."""
    about, path = unit.file.about, str(unit.file.path)
    start = SweepRecord(
        about.model,
        path,
        about.family,
        about.parameters,
        unit.seed,
        fingerprint=unit.file.fingerprint,
        settings=plan.described,
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ProxcalWarning)
        try:
            return list(_rows(plan, unit, start, caught))
        except Exception as error:  # whatever it is, the other files go on
            return [_failed(start, error)]


def _rows(plan: _Plan, unit: _Unit, start: SweepRecord, caught: list[warnings.WarningMessage]) -> Iterator[SweepRecord]:
    data = Predictions.load(unit.file.path, prefix=plan.prefix)
    check_complete(start.file, data)
    calibration, test = data.split(plan.fraction, random_state=unit.seed)
    asked = {base for base, names in plan.calibrators.items() if unit.calibrators.intersection(names)}
    given = {name: base for name, base in plan.bases.items() if name in asked}
    calibrators = make_calibrators(given, paper=plan.paper, input=data.input, **plan.settings)
    if RAW in asked and RAW not in given:
        alone = dict(plan.settings) | {"input": data.input, "informed": None}
        calibrators = make_calibrators({RAW: RAW}, paper=plan.paper, **alone) | calibrators
    for base, pair in run_split(calibration, test, calibrators):
        fitting = _notes(caught)
        outcomes = zip(plan.calibrators[base], (pair.base, pair.ours), strict=False)
        for name, outcome in outcomes:
            if name in unit.calibrators:
                informed = informed_name(pair.calibrator) if name.endswith(OURS) else None
                row = start._replace(calibrator=name, informed=informed, n_calibration=len(calibration))
                bias = _bias(outcome, plan.paper)
                notes = [*dict.fromkeys([*fitting, *bias.pop("notes", []), *_notes(caught)])]
                measured: dict[str, Any] = dict(measure(outcome, weighted_mce=plan.paper))
                yield row._replace(**measured, **bias, n_test=len(test), notes="; ".join(notes) or None)


def _bias(outcome: Outcome, paper: bool) -> dict[str, Any]:
    """What the bias test says; or why it says nothing, as where proximity groups have no confidence in common."""
    try:
        found = bias_test(
            outcome.confidence,
            outcome.correct,
            outcome.log_proximity,
            matching="paper" if paper else "one-to-one",
        )
    except ValueError as error:
        return {"notes": [str(error)]}
    low, high = found.interval
    return {
        "bias_index": found.bias_index,
        "bias_low": low,
        "bias_high": high,
        "p_value": found.p_value,
        "n_pairs": found.n_pairs,
    }


def _notes(caught: list[warnings.WarningMessage]) -> list[str]:
    """The warnings since this was last asked."""
    messages = [str(warning.message) for warning in caught]
    caught.clear()
    return messages


def _tell(rows: Iterable[SweepRecord]) -> None:
    for row in rows:
        if row.error is not None:
            warnings.warn(f"left out: {row.error}", ProxcalWarning, stacklevel=3)


def _found(rows: Sequence[SweepRecord], seeds: Sequence[int], plan: _Plan) -> Sweep:
    calibrators = {name for names in plan.calibrators.values() for name in names}
    errors = [row for row in rows if row.error is not None]
    records = [row for row in rows if row.seed in seeds and row.calibrator in calibrators]
    if not records:
        raise ValueError(f"files has none that can be used: {errors[0].error}")
    return Sweep(records, errors)
