"""`proxcal bench`: speed, memory and quality on this machine, beside the peers that are installed."""

from pathlib import Path
from typing import Annotated

import typer

from proxcal import Predictions, load_demo
from proxcal.cli import _options as options
from proxcal.cli._terminal import progress, say, stdout, table
from proxcal.experiments.bench import PARTS, PICTURES, QUALITY, SIZES, TABLE, BenchResult
from proxcal.experiments.bench import bench as run_bench
from proxcal.experiments.bench.markdown import UNKNOWN, comparisons, number, ratio
from proxcal.experiments.bench.result import line_name, wall

_SUFFIXES = (".npz", ".safetensors")


def bench(
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="Folder for bench.md, bench.json and pictures. One begun is resumed."),
    ],
    size: Annotated[str, typer.Option(help=f"Of the simulated samples: {' or '.join(SIZES)} (ImageNet's).")] = "small",
    only: Annotated[
        list[str] | None, typer.Option(help=f"Repeat for several of: {', '.join(PARTS)}.", show_default="all")
    ] = None,
    repeats: Annotated[
        int | None, typer.Option(help="Turns of each contestant.", show_default="5 at size small, 3 at paper")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            help="Folder of predictions files, on which quality is measured.", show_default="the bundled demo's"
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Start anew, whatever is in the folder.")] = False,
    as_json: options.Json = False,
) -> None:
    """Measure speed, memory and quality here, beside statsmodels, scikit-learn, faiss, netcal and probmetrics."""
    wanted = only is None or QUALITY in only
    if data is not None and not wanted:
        raise ValueError("--data is what quality is measured on, which --only leaves out; add --only quality")
    predictions = _predictions(data) if wanted else None
    try:
        with progress() as move:
            result = run_bench(
                output, predictions, size=size, only=only, repeats=repeats, overwrite=force, progress=move
            )
    except KeyboardInterrupt:
        say(f"interrupted: {output} keeps what is done; the same command, without --force, resumes")
        raise
    if as_json:
        typer.echo(result.to_json())
        return
    _print(result)
    console = stdout()
    for name in (TABLE, *PICTURES):
        if (output / name).exists():
            console.print(f"{(output / name).resolve()}", soft_wrap=True)


def _predictions(folder: Path | None) -> dict[str, Predictions]:
    if folder is None:
        return {"demo": load_demo()}
    files = sorted(path for path in folder.glob("*") if path.suffix.lower() in _SUFFIXES)
    if not files:
        raise ValueError(f"{folder} has no predictions files ({' or '.join(_SUFFIXES)}); give the folder that has")
    return {path.name: Predictions.load(path) for path in files}


def _print(result: BenchResult) -> None:
    shown = table("stage", "seconds", "beside", "seconds", "times faster")
    shown.columns[2].justify = "left"
    for stage, contest, own, peer in comparisons(result):
        ours = wall(contest.samples[own])
        theirs = wall(contest.samples[peer]) if peer else float("nan")
        shown.add_row(line_name(stage, own), number(ours), peer or UNKNOWN, number(theirs), ratio(theirs, ours))
    console = stdout()
    console.print(shown)
    console.print()
