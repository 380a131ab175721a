"""`proxcal apply`: a fitted calibrator on new predictions."""

import csv
import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from proxcal import ProCal
from proxcal._arrays import write_arrays
from proxcal._files import atomic_write, check_writable
from proxcal.cli import _options as options
from proxcal.cli._samples import load_for
from proxcal.cli._terminal import facts, progress, stdout
from proxcal.rows import Calibrated

SUFFIXES = (".npz", ".safetensors", ".csv")


def apply(
    model: Annotated[Path, typer.Argument(help="A calibrator that proxcal fit has written.")],
    predictions: Annotated[Path, typer.Argument(help="Predictions (.npz or .safetensors); labels are not needed.")],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help=".npz or .safetensors for probs, prediction, confidence and proximity; .csv for all but probs.",
        ),
    ],
    prefix: options.Prefix = "",
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Give each prediction a confidence that holds: one line or row a sample, in the order of the file."""
    if output.suffix.lower() not in SUFFIXES:
        raise ValueError(f"--output has the suffix {output.suffix!r}; it needs one of {', '.join(SUFFIXES)}")
    check_writable(output, force)
    calibrator = ProCal.load(model)
    samples = load_for(calibrator, model, predictions, prefix)
    with progress() as move:
        move(0, 1, f"calibrating {len(samples)} samples")
        calibrated = calibrator.calibrate(samples.scores, samples.features)
    _write(output, calibrated, force)

    summary: dict[str, Any] = {
        "output": str(output),
        "samples": len(samples),
        "mean_confidence": float(calibrated.confidence.mean()),
        "accuracy": None if samples.labels is None else float((calibrated.predicted == samples.labels).mean()),
    }
    if as_json:
        typer.echo(json.dumps(summary, indent=1))
        return
    shown = {name: f"{value:.4f}" if isinstance(value, float) else value for name, value in summary.items()}
    stdout().print(facts(**shown))


def _write(path: Path, calibrated: Calibrated, force: bool) -> None:
    columns = {"prediction": calibrated.predicted, "confidence": calibrated.confidence}
    if calibrated.log_proximity is not None:
        columns["proximity"] = np.exp(calibrated.log_proximity)
    if path.suffix.lower() != ".csv":
        write_arrays(path, {"probs": calibrated.probs, **columns}, force)
        return
    with atomic_write(path, force) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["index", *columns])
        writer.writerows(zip(range(len(calibrated.predicted)), *(c.tolist() for c in columns.values()), strict=True))
