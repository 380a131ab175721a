"""`proxcal monitor`: batches in the order in which they came, and whether proximity or the gap has drifted."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from proxcal import Monitor, Predictions, ProCal, WindowRecord
from proxcal._files import check_readable, check_writable
from proxcal._validation import check_integer
from proxcal.cli import _options as options
from proxcal.cli._samples import load_for
from proxcal.cli._terminal import progress, stdout, table
from proxcal.monitoring import Watched

DRIFTED = 1  # the exit code
LONGEST_NAME = 22
COLUMNS = {  # what the record calls a figure, and what the table does
    "percentile": "proximity\npercentile",
    "low_share": "in lowest\n5 %",
    "gap": "gap",
    "low_gap": "gap in\nlowest fifth",
}
Look = tuple[str, WindowRecord]


def monitor(
    model: Annotated[Path, typer.Argument(help="A calibrator that proxcal fit has written.", show_default=False)],
    batches: Annotated[
        list[Path],
        typer.Argument(
            help="Predictions with features (.npz or .safetensors), in order; labels if known.", show_default=False
        ),
    ],
    window: Annotated[
        int | None, typer.Option("--window", "-w", help="Look back on so many samples.", show_default="1000")
    ] = None,
    batch_size: Annotated[
        int | None,
        typer.Option("--batch-size", "-b", help="Look again after so many samples.", show_default="a whole file"),
    ] = None,
    false_alarms: Annotated[
        float | None, typer.Option(help="Chance that there ever is a false alarm.", show_default="0.05")
    ] = None,
    tolerance: Annotated[
        float | None, typer.Option(help="By how much confidence may be off.", show_default="0.02")
    ] = None,
    normal: Annotated[
        Path | None,
        typer.Option(help="Predictions whose features show what is normal.", show_default="the model's references"),
    ] = None,
    state: Annotated[
        Path | None, typer.Option(help="Go on from this file if it exists, and leave the window in it (.proxcal).")
    ] = None,
    fail_on_drift: Annotated[
        bool, typer.Option("--fail-on-drift", help=f"Leave with exit code {DRIFTED} if there is drift.")
    ] = False,
    prefix: options.Prefix = "",
    as_json: options.Json = False,
) -> None:
    """Say for each batch whether proximity or, where there are labels, accuracy - confidence has left its interval."""
    if state is not None:
        check_writable(state, overwrite=True)
    if batch_size is not None:
        check_integer("--batch-size", batch_size, at_least=1)
    for path in batches:
        check_readable(path)
    calibrator = ProCal.load(model)
    given = {"window": window, "false_alarms": false_alarms, "tolerance": tolerance}
    settings = {name: value for name, value in given.items() if value is not None}
    looks: list[Look] = []
    with progress() as move:
        move(0, len(batches), "what is normal")
        watching = _begun(calibrator, state, normal, settings, prefix)
        for done, path in enumerate(batches):
            move(done, len(batches), path.name)
            for name, samples in _parts(path.name, load_for(calibrator, model, path, prefix), batch_size):
                looks.append((name, _update(watching, path, samples)))
    if state is not None:
        watching.save(state, overwrite=True)
    if as_json:
        typer.echo(json.dumps([{"batch": name} | asdict(r) | {"drifted": r.drifted} for name, r in looks], indent=1))
    else:
        _print(looks, watching.false_alarms)
    if fail_on_drift and any(record.drifted for _, record in looks):
        raise typer.Exit(DRIFTED)


def _begun(
    calibrator: ProCal, state: Path | None, normal: Path | None, settings: dict[str, Any], prefix: str
) -> Monitor:
    """A new monitor, or the one that was left in `state`, if that exists."""
    if state is None or not state.exists():
        features = None if normal is None else _features(normal, Predictions.load(normal, prefix=prefix))
        return Monitor(**settings).fit(calibrator, features)
    if normal is not None:
        raise ValueError(f"--normal is {normal}; {state} says what is normal: leave --normal out, or begin a new state")
    found = Monitor.load(state, calibrator)
    for name, value in settings.items():
        if value != getattr(found, name):
            raise ValueError(
                f"--{name.replace('_', '-')} is {value}; {state} was begun with {getattr(found, name)}: leave it out,"
                " or begin a new state"
            )
    return found


def _parts(name: str, samples: Predictions, size: int | None) -> Iterator[tuple[str, Predictions]]:
    if size is None or size >= len(samples):
        yield name, samples
        return
    starts = range(0, len(samples), size)
    for i, start in enumerate(starts):
        part = samples.take(np.arange(start, min(start + size, len(samples))))
        yield f"{name} {i + 1}/{len(starts)}", part


def _update(watching: Monitor, path: Path, samples: Predictions) -> WindowRecord:
    return watching.update(samples.scores, _features(path, samples), samples.labels)


def _features(path: Path, samples: Predictions) -> Any:
    if samples.features is None:
        raise ValueError(f"{path} has no features; proximity needs the embedding of each sample")
    return samples.features


def _print(looks: list[Look], false_alarms: float) -> None:
    shown = table("Batch", "window", *COLUMNS.values())
    for name, record in looks:
        figures = [getattr(record, figure) for figure in COLUMNS]
        style = "bold" if record.drifted else None
        shown.add_row(_in_short(name), str(record.n_samples), *(_figure(figure) for figure in figures), style=style)
    last = looks[-1][1]
    shown.add_row("interval, last", "", *(_interval(getattr(last, figure)) for figure in COLUMNS), style="dim")
    console = stdout()
    console.print(shown)
    console.print(
        "\nIn percent, over the window. Percentile: where samples lie on average among normal ones, 50 if alike. Gap:"
        " accuracy - confidence. A * has left its interval; where nothing has changed, that happens with a chance of"
        f" {100 * false_alarms:g} % in all batches there will ever be.\n"
    )
    if not any(record.drifted for _, record in looks):
        console.print("No drift.")
    for figure, header in COLUMNS.items():
        since = next((name for name, record in looks if figure in record.drifted), None)
        if since is not None:
            console.print(f"Drift: {' '.join(header.split())}, first in {since}", soft_wrap=True)


def _in_short(name: str) -> str:
    """Both ends of a long name: the second says which part of a file."""
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME // 2]}…{name[-LONGEST_NAME // 2 + 1 :]}"


def _figure(watched: Watched | None) -> str:
    return "" if watched is None else f"{'*' if watched.outside else ''}{100 * watched.value:.1f}"


def _interval(watched: Watched | None) -> str:
    return "" if watched is None else f"{100 * watched.low:.1f}..{100 * watched.high:.1f}"
