"""`proxcal evaluate`: the paper's table for predictions files."""

from pathlib import Path
from typing import Annotated

import typer

from proxcal import Predictions, experiments
from proxcal._files import check_writable
from proxcal.cli import _options as options
from proxcal.cli._comparison import print_accuracy_changes, print_choices, print_comparison, print_legend
from proxcal.cli._seeds import numbers
from proxcal.cli._terminal import progress, stdout

DEFAULT_SEEDS = "2020 2021 2022 2023 2024"


def evaluate(
    files: Annotated[
        list[Path] | None, typer.Argument(help=f"{options.PREDICTIONS_HELP} with labels and features.")
    ] = None,
    base: Annotated[
        list[str] | None,
        typer.Option(
            help=f"{options.BASE_HELP} Repeat for several; all: the paper's eight.",
            show_default="identity, temperature",
        ),
    ] = None,
    seeds: Annotated[
        str, typer.Option(help="One random split each: --seeds 2020 2021", metavar="NUMBERS")
    ] = DEFAULT_SEEDS,
    fraction: Annotated[float, typer.Option(help="Share of each file that calibrates.")] = 0.5,
    calibration: Annotated[
        Path | None, typer.Option(help="With --test, in place of FILES: one split, as it is given.")
    ] = None,
    test: Annotated[Path | None, typer.Option(help="The test samples that go with --calibration.")] = None,
    informed: options.Informed = None,
    rows: options.Rows = None,
    neighbors: options.Neighbors = None,
    metric: options.Metric = None,
    no_normalize: options.NoNormalize = False,
    paper: options.Paper = False,
    prefix: options.Prefix = "",
    csv: Annotated[Path | None, typer.Option(help="Write every value here too, a row each.")] = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Compare base calibrators alone and with proximity (+ours), on samples that neither has seen."""
    if csv is not None:
        check_writable(csv, force)
    paths = _paths(files, calibration, test)
    with progress() as move:
        result = experiments.evaluate(
            {str(path): Predictions.load(path, prefix=prefix) for path in paths},
            test=None if test is None else Predictions.load(test, prefix=prefix),
            bases="all" if base == ["all"] else base or ["identity", "temperature"],
            seeds=numbers(seeds),
            fraction=fraction,
            paper=paper,
            progress=move,
            **options.settings(informed, rows, neighbors, metric, no_normalize),
        )
    if as_json:
        typer.echo(result.to_json())
    else:
        console = stdout()
        tables: list[tuple[str | None, str]] = [(str(path), str(path)) for path in paths]
        if len(paths) > 1:
            tables.append((None, f"Mean of the {len(paths)} files"))
        for file, title in tables:
            console.print(f"{title}\n", style="bold", soft_wrap=True)
            print_comparison(console, result, file)
            console.print()
        print_legend(console, result)
        print_choices(console, result)
        print_accuracy_changes(console, result)
    if csv is not None:
        result.to_csv(csv, overwrite=force)


def _paths(files: list[Path] | None, calibration: Path | None, test: Path | None) -> list[Path]:
    if (calibration is None) != (test is None):
        raise ValueError("--calibration and --test go together: give both, or FILES to be split at random")
    if calibration is not None and files:
        raise ValueError("--calibration and --test are one split; FILES are split at random: give either")
    paths = files or ([] if calibration is None else [calibration])
    if not paths:
        raise ValueError("evaluate needs predictions: FILES to be split at random, or --calibration FILE --test FILE")
    if len(set(paths)) < len(paths):
        raise ValueError("FILES has a file twice; give each once")
    return paths
