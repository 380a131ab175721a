"""`proxcal sweep`: many models' predictions files, calibrators and random splits, kept as they come."""

from pathlib import Path
from typing import Annotated

import typer

from proxcal import experiments
from proxcal.cli import _options as options
from proxcal.cli._seeds import numbers
from proxcal.cli._terminal import progress, say, stdout
from proxcal.cli._zoo import print_left_out, print_zoo
from proxcal.cli._zoo_figures import check_folder, draw


def sweep(
    files: Annotated[
        list[Path], typer.Argument(help="A predictions file (.npz or .safetensors) a model, with labels and features.")
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help=".csv or .parquet: a row a model, calibrator and seed. One that was begun is resumed.",
        ),
    ],
    base: Annotated[
        list[str] | None,
        typer.Option(
            help=f"{options.BASE_HELP} Repeat for several; all: the paper's eight.", show_default="temperature"
        ),
    ] = None,
    seeds: Annotated[
        str, typer.Option(help="One random split of each file each: --seeds 2020 2021", metavar="NUMBERS")
    ] = "2020",
    fraction: Annotated[float, typer.Option(help="Share of each file that calibrates.")] = 0.5,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs", "-j", help="Files at once.", show_default="1; with --engine ray the cluster's processors"
        ),
    ] = None,
    engine: Annotated[
        str, typer.Option(help="processes of this machine, or ray: tasks on the cluster that RAY_ADDRESS names.")
    ] = "processes",
    metadata: Annotated[
        Path | None,
        typer.Option(
            help="CSV with a column file and any of model, family, parameters.",
            show_default="metadata.csv beside the files",
        ),
    ] = None,
    figures: Annotated[Path | None, typer.Option(help="Folder for pictures of all models (.png).")] = None,
    informed: options.Informed = None,
    rows: options.Rows = None,
    neighbors: options.Neighbors = None,
    metric: options.Metric = None,
    no_normalize: options.NoNormalize = False,
    paper: options.Paper = False,
    prefix: options.Prefix = "",
    force: Annotated[bool, typer.Option("--force", help="Start anew, whatever output and pictures exist.")] = False,
    as_json: options.Json = False,
) -> None:
    """Measure proximity bias and calibration errors of many models. Stopped whenever, it resumes from its output."""
    if figures is not None:
        check_folder(figures, force)
    try:
        with progress() as move:
            result = experiments.sweep(
                files,
                bases="all" if base == ["all"] else base or ["temperature"],
                seeds=numbers(seeds),
                fraction=fraction,
                paper=paper,
                prefix=prefix,
                metadata=metadata,
                output=output,
                overwrite=force,
                jobs=jobs,
                engine=engine,  # type: ignore[arg-type]  # checked there
                progress=move,
                **options.settings(informed, rows, neighbors, metric, no_normalize),
            )
    except KeyboardInterrupt:
        say(f"interrupted: {output} keeps what is done; the same command, without --force, resumes")
        raise
    drawn = [] if figures is None else draw(result, figures, force)
    if as_json:
        typer.echo(result.to_json())
        return
    console = stdout()
    print_zoo(console, result)
    print_left_out(console, result)
    for what, path in (("Results", output), *(("Picture", path) for path in drawn)):
        console.print(f"{what}: {path.resolve()}", soft_wrap=True)
