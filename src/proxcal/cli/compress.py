"""`proxcal compress`: a calibrator whose references take less memory, and what that costs."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from proxcal import Predictions, ProCal, compression_report
from proxcal._files import check_writable
from proxcal.cli import _options as options
from proxcal.cli._terminal import progress, stdout


def compress(
    model: Annotated[Path, typer.Argument(help="A calibrator that proxcal fit has written.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the smaller one goes.")],
    samples: Annotated[
        Path, typer.Option(help="Predictions with labels and features that it was not fitted on: shows what it costs.")
    ],
    dtype: Annotated[
        str, typer.Option(help="What references are kept in: float16, float32, or same, as they are.")
    ] = "float16",
    components: Annotated[
        int | None, typer.Option(help="Keep so many principal components.", show_default="all columns")
    ] = None,
    references: Annotated[int | None, typer.Option(help="Keep so many references.", show_default="all")] = None,
    coreset: Annotated[str, typer.Option(help="How these are chosen: random or k-centre.")] = "random",
    prefix: options.Prefix = "",
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Keep a calibrator's references in less memory, and say what that does to proximity and PIECE."""
    check_writable(output, force)
    whole = ProCal.load(model)
    shown = Predictions.load(samples, prefix=prefix)
    with progress() as move:
        move(0, 1, "compressing")
        smaller = whole.compress(
            dtype=None if dtype == "same" else dtype,  # type: ignore[arg-type]
            n_components=components,
            n_references=references,
            coreset=coreset,  # type: ignore[arg-type]
        )
        report = compression_report(whole, smaller, shown)
    smaller.save(output, overwrite=force)
    if as_json:
        typer.echo(json.dumps({"output": str(output)} | asdict(report), indent=1))
    else:
        stdout().print(f"calibrator     {output}\n{report}", soft_wrap=True)
