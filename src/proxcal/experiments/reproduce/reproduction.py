"""Run a protocol, and what comes of it: the rows of its table, the value of every split, and its picture."""

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from proxcal._files import atomic_write, check_writable
from proxcal._validation import check_number
from proxcal.bias.overfitting import OverfittingByProximity
from proxcal.experiments.evaluate import Progress
from proxcal.experiments.reproduce.comparison import compare
from proxcal.experiments.reproduce.inputs import FilePath, read_inputs
from proxcal.experiments.reproduce.overfit import GroupRow, measure_overfitting
from proxcal.experiments.reproduce.parts import Parts, Value
from proxcal.experiments.reproduce.protocols import Kind, Protocol, find_protocol
from proxcal.experiments.reproduce.run import PairRow, Run
from proxcal.experiments.reproduce.sensitivity import vary_distance, vary_neighbors
from proxcal.experiments.reproduce.shift import measure_shifts
from proxcal.experiments.reproduce.timing import TimeRow, measure_times

PAIRS: Mapping[Kind, Callable[[Run], tuple[list[PairRow], list[Value]]]] = {
    "comparison": compare,
    "shift": measure_shifts,
    "neighbors": vary_neighbors,
    "distance": vary_distance,
}
OWN_SETTINGS = "proxcal's own settings in place of the paper's"
SUFFIXES = (".csv", "-splits.csv", ".png")  # of the table, the values of every split, the picture
Row = PairRow | TimeRow | GroupRow


@dataclass(frozen=True)
class Reproduction:
    """`deviations` says in which points this is not the paper's protocol. `rows` are its table, with what the paper
    prints beside; `values` each split's, where there are splits."""

    protocol: Protocol
    deviations: tuple[str, ...]
    rows: Sequence[Row]
    values: Sequence[Value] = ()
    overfitting: OverfittingByProximity | None = None

    @property
    def title(self) -> str:
        if not self.deviations:
            return self.protocol.title
        return f"{self.protocol.title}; NOT the paper's protocol: {'; '.join(self.deviations)}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "protocol": self.protocol.name,
            "title": self.protocol.title,
            "claim": self.protocol.claim,
            "deviations": list(self.deviations),
            "rows": [row._asdict() for row in self.rows],
            "values": [value._asdict() for value in self.values],
        }

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=1)

    def paths(self, folder: FilePath) -> list[Path]:
        """NAME.csv, NAME-splits.csv where there are splits, and NAME.png where there is a picture."""
        made = (True, bool(self.values), self.protocol.kind != "time")
        paths = (Path(folder, f"{self.protocol.name}{suffix}") for suffix in SUFFIXES)
        return [path for path, is_made in zip(paths, made, strict=True) if is_made]

    def write(self, folder: FilePath, *, overwrite: bool = False) -> list[Path]:
        """All of `paths`."""
        from proxcal.experiments.reproduce.pictures import picture  # noqa: PLC0415 (matplotlib costs only this)

        paths = self.paths(folder)
        _write_csv(paths[0], self.rows, overwrite)
        if self.values:
            _write_csv(paths[1], self.values, overwrite)
        figure = picture(self)
        if figure is not None:
            with atomic_write(paths[-1], overwrite) as temporary:
                figure.savefig(temporary, dpi=120)
        return paths


def reproduce(
    table: str,
    files: Sequence[FilePath],
    *,
    scaled: bool = False,
    own_settings: bool = False,
    network_ms: float | None = None,
    output: FilePath | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Reproduction:
    """One of the paper's tables or figures, by its own protocol, from predictions files.

    Parameters
    ----------
    table : its name or number, one of `PROTOCOLS`.
    files : predictions, in the order of the protocol's `needs`: FILE, NAME=FILE, or FILE:PREFIX where the arrays' names
        in it have a prefix.
    scaled : take files with fewer samples than the paper's; `deviations` then says so.
    own_settings : the package's settings in place of the paper's; `deviations` then says so.
    network_ms : the network's own time a sample, for the table of inference time.
    output : a folder that takes the results; while they are made, each part is kept there, and the same call resumes.
    overwrite : replace what is there, and start anew.
    progress : called before each part with the number done, the number in all, and what comes.
    """
    protocol = find_protocol(table)
    if network_ms is not None:
        network_ms = check_number("network_ms", network_ms, above=0)
    folder = None if output is None else Path(output)
    unfinished = None if folder is None or protocol.kind not in PAIRS else folder / f"{protocol.name}.parts"
    replace = overwrite or (unfinished is not None and unfinished.is_dir())  # a run that was stopped while it wrote
    if folder is not None:
        _check_folder(folder, protocol, replace)
    inputs = read_inputs(protocol, files, scaled=scaled)
    if folder is not None:
        folder.mkdir(exist_ok=True)
    plan = {"proxcal": version("proxcal"), "own settings": own_settings, **inputs.fingerprints}
    parts = Parts(unfinished, plan, overwrite=overwrite)
    deviations = (*inputs.deviations, *([OWN_SETTINGS] if own_settings else []))
    found = _found(Run(protocol, inputs, own_settings, parts, progress or _silent), deviations, network_ms)
    if folder is not None:
        found.write(folder, overwrite=replace)
        parts.clear()
    return found


def _found(run: Run, deviations: tuple[str, ...], network_ms: float | None) -> Reproduction:
    if run.protocol.kind == "time":
        return Reproduction(run.protocol, deviations, measure_times(run, network_ms))
    if run.protocol.kind == "overfit":
        rows, overfitting = measure_overfitting(run)
        return Reproduction(run.protocol, deviations, rows, overfitting=overfitting)
    return Reproduction(run.protocol, deviations, *PAIRS[run.protocol.kind](run))


def _check_folder(folder: Path, protocol: Protocol, overwrite: bool) -> None:
    """Before any work: the folder takes the results, or can be made."""
    if folder.is_dir():
        for suffix in SUFFIXES:
            check_writable(folder / f"{protocol.name}{suffix}", overwrite)
    else:
        check_writable(folder)


def _write_csv(path: Path, rows: Sequence[Any], overwrite: bool) -> None:
    with atomic_write(path, overwrite) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(rows[0]._fields)
        writer.writerows(rows)


def _silent(done: int, total: int, text: str) -> None:
    pass
