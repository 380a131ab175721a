"""`proxcal audit`: whether confidence has proximity bias, on one page that anyone can read."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from proxcal import Audit, report
from proxcal._files import check_writable
from proxcal.cli import _options as options
from proxcal.cli._fifths import print_fifths
from proxcal.cli._terminal import progress, stdout
from proxcal.experiments import SEEDS

PAGE = Path("audit.html")
NAMES = {"model": "model", "base": "base", "ours": "ProCal"}
LEGEND = "accuracy, model: as it is; base: after the base calibrator; ProCal: that, corrected by proximity."


def audit(
    predictions: Annotated[
        Path,
        typer.Argument(
            help=f"{options.PREDICTIONS_HELP} with labels and features, and ids or images to show samples by."
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The page.")] = PAGE,
    calibration: Annotated[
        Path | None,
        typer.Option(
            help="Calibration samples; without it, a random part of PREDICTIONS calibrates.", show_default=False
        ),
    ] = None,
    train: Annotated[
        Path | None,
        typer.Option(help="Predictions on the model's training samples: shows overfitting too.", show_default=False),
    ] = None,
    base: Annotated[str, typer.Option(help=options.BASE_HELP)] = "temperature",
    seed: Annotated[int, typer.Option(help="Of the random split, without --calibration.")] = SEEDS[0],
    fraction: Annotated[float, typer.Option(help="Share of PREDICTIONS that calibrates, without --calibration.")] = 0.5,
    informed: options.Informed = None,
    rows: options.Rows = None,
    neighbors: options.Neighbors = None,
    metric: options.Metric = None,
    no_normalize: options.NoNormalize = False,
    paper: options.Paper = False,
    prefix: options.Prefix = "",
    train_prefix: Annotated[
        str | None, typer.Option(help="The same for --train, where it differs.", show_default=False)
    ] = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Test for proximity bias, before and after correction, and write a page that a regulator can read."""
    if output.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"--output has the suffix {output.suffix!r}; a page needs .html")
    check_writable(output, force)
    with progress() as move:
        found = report.audit(
            predictions,
            calibration=calibration,
            train=train,
            base=base,
            paper=paper,
            seed=seed,
            fraction=fraction,
            prefix=prefix,
            train_prefix=train_prefix,
            progress=move,
            **options.settings(informed, rows, neighbors, metric, no_normalize),
        )
    found.to_html(output, overwrite=force)
    if as_json:
        typer.echo(found.to_json())
        return
    console = stdout()
    _print(console, found)
    console.print(f"Page: {output.resolve()}", soft_wrap=True)


def _print(console: Console, found: Audit) -> None:
    console.print(f"{found.summary}\n", style="bold")
    for stage in found.stages:
        console.print(f"{stage.title}: {stage.verdict.headline}. {stage.verdict.text}\n")
    fifths = {
        NAMES[stage.name]: [(group.confidence, group.gap) for group in stage.groups]
        for stage in found.stages
        if stage.groups is not None
    }
    if fifths:
        accuracy = [group.accuracy for group in found.stages[0].groups or ()]
        print_fifths(console, accuracy, fifths, LEGEND)
        console.print()
