"""`proxcal extract`: a model and a folder of data in, a predictions file out; or many models, a file each."""

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from proxcal._arrays import FORMATS
from proxcal.cli import _options as options
from proxcal.cli._terminal import facts, progress, say, stdout, table
from proxcal.datasets import DATA_SETS, class_names, open_samples
from proxcal.integrations.extraction import Extraction, Options, extract_each, extract_to_file, number_or_file


def extract(
    models: Annotated[
        list[str],
        typer.Argument(
            help="timm:NAME, torchvision:NAME, hf:FOLDER, onnx:FILE, or MODULE:FUNCTION of your own; globs too, as"
            " 'timm:*resnet*'.",
            show_default=False,
        ),
    ],
    data: Annotated[
        str,
        typer.Option(
            "--data",
            "-d",
            help="A folder of class folders of images; a .txt of paths and labels; a .csv or .tsv with columns path"
            f" or text, label, name; or NAME:FOLDER, NAME one of {', '.join(DATA_SETS)}.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="A .npz or .safetensors; for several models a folder, where those done are skipped.",
            show_default=False,
        ),
    ],
    weights: Annotated[
        Path | None,
        typer.Option(help="The model's weights, or a folder with those of each. None are downloaded."),
    ] = None,
    classes: Annotated[
        Path | None,
        typer.Option(help="Names of the model's classes in its order, one a line, where the data's order is another."),
    ] = None,
    layer: Annotated[
        str | None, typer.Option(help="The layer whose input is the features.", show_default="the classifier head")
    ] = None,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    amp: Annotated[bool, typer.Option("--amp", help="Compute in 16 bits where that is safe.")] = False,
    batch_size: Annotated[int, typer.Option("--batch-size", "-b", help="Samples at once.")] = 64,
    workers: Annotated[
        int | None,
        typer.Option(help="Processes that read ahead.", show_default="1; on a GPU one a core, up to 8"),
    ] = None,
    features: Annotated[str, typer.Option(help="Type they are kept in: float16 or float32.")] = "float16",
    pca: Annotated[
        str | None,
        typer.Option(
            help="Keep so many principal components of the features; or FILE: those that this other file learned.",
            metavar="NUMBER|FILE",
        ),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="A sample that cannot be read is an error.")] = False,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Run models over images or texts, once: logits, features, labels and names of the samples go into a file.

    Stopped whenever, the same command goes on from where it was.
    """
    chosen = Options(
        weights=weights,
        classes=None if classes is None else class_names(classes),
        head=layer,
        device=device,
        amp=amp,
        batch_size=batch_size,
        workers=workers,
        features=features,
        pca=number_or_file(pca),
        strict=strict,
    )
    samples = open_samples(data)
    try:
        with progress() as move:
            if output.suffix.lower() in FORMATS and len(models) == 1:
                found = [extract_to_file(models[0], samples, output, chosen, overwrite=force, progress=move)]
            else:
                found = list(extract_each(models, samples, output, chosen, overwrite=force, progress=move))
    except KeyboardInterrupt:
        say(f"interrupted: {output} keeps what is done; the same command, without --force, goes on")
        raise
    if as_json:
        typer.echo(json.dumps([asdict(one) for one in found], indent=1))
    elif len(found) == 1 and found[0].error is None:
        _print_one(stdout(), found[0])
    else:
        _print_all(stdout(), found, output)


def _print_one(console: Console, found: Extraction) -> None:
    console.print(
        facts(
            model=found.model,
            samples=found.samples,
            skipped=f"{found.skipped}, which could not be read" if found.skipped else None,
            classes=found.classes,
            features=found.features,
            accuracy=None if found.accuracy is None else f"{found.accuracy:.2%}",
            time=None if found.seconds is None else f"{found.seconds:.1f} s",
        )
    )
    console.print(f"Predictions: {Path(found.output).resolve()}", soft_wrap=True)


def _print_all(console: Console, found: Iterable[Extraction], folder: Path) -> None:
    done = [one for one in found if one.error is None]
    if done:
        shown = table("Model", "samples", "skipped", "features", "accuracy", "seconds")
        for one in done:
            accuracy = "" if one.accuracy is None else f"{one.accuracy:.2%}"
            seconds = "done" if one.seconds is None else f"{one.seconds:.1f}"
            name = Path(one.output).stem
            name = name if len(name) <= 32 else f"{name[:31]}…"
            shown.add_row(name, str(one.samples), str(one.skipped), str(one.features), accuracy, seconds)
        console.print(shown)
    left_out = [one.model for one in found if one.error is not None]
    if left_out:
        console.print(f"\nLeft out, see above: {', '.join(left_out)}")
    console.print(f"\nPredictions: {folder.resolve()}", soft_wrap=True)
