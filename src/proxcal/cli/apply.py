"""`proxcal apply`: a fitted calibrator on new predictions, a block of them at a time.

What it says is collected in temporary files beside the output, which is written of them when all is said.
"""

import csv
import json
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from proxcal import Predictions, ProCal
from proxcal._arrays import write_arrays
from proxcal._extras import require
from proxcal._files import atomic_write, check_writable
from proxcal._mapped import Spool
from proxcal._validation import Array, blocks_of
from proxcal.cli import _options as options
from proxcal.cli._samples import load_for
from proxcal.cli._terminal import facts, progress, stdout
from proxcal.rows import Calibrated

SUFFIXES = (".npz", ".safetensors", ".parquet", ".csv")


def apply(
    model: Annotated[Path, typer.Argument(help="A calibrator that proxcal fit has written.")],
    predictions: Annotated[Path, typer.Argument(help=f"{options.PREDICTIONS_HELP}; labels are not needed.")],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help=".npz, .safetensors or .parquet for probs, prediction, confidence and proximity; .csv for all but"
            " probs.",
        ),
    ],
    prefix: options.Prefix = "",
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Give each prediction a confidence that holds: one line or row a sample, in the order of the file."""
    suffix = output.suffix.lower()
    if suffix not in SUFFIXES:
        raise ValueError(f"--output has the suffix {output.suffix!r}; it needs one of {', '.join(SUFFIXES)}")
    if suffix == ".parquet":
        require("pyarrow.parquet", "parquet", "a .parquet file")
    check_writable(output, force)
    calibrator = ProCal.load(model)
    samples = load_for(calibrator, model, predictions, prefix)
    with progress() as move:
        move(0, len(samples), "calibrating")
        columns = _collected(calibrator, samples, output.parent, with_probs=suffix != ".csv", move=move)
        _write(output, columns, force)

    predicted, confidence = columns["prediction"], columns["confidence"]
    summary: dict[str, Any] = {
        "output": str(output),
        "samples": len(samples),
        "mean_confidence": float(confidence.mean()),
        "accuracy": None if samples.labels is None else float((predicted == samples.labels).mean()),
    }
    if as_json:
        typer.echo(json.dumps(summary, indent=1))
        return
    shown = {name: f"{value:.4f}" if isinstance(value, float) else value for name, value in summary.items()}
    stdout().print(facts(**shown))


def _collected(
    calibrator: ProCal, samples: Predictions, folder: Path, *, with_probs: bool, move: Callable[[int, int, str], None]
) -> dict[str, Array]:
    """What is said of all samples, by the names it goes out under."""
    spools: dict[str, Spool] = {}
    with ExitStack() as closing:
        for block, calibrated in calibrator.calibrate_blocks(samples.scores, samples.features):
            for name, values in _columns(calibrated, with_probs).items():
                if name not in spools:
                    spools[name] = closing.enter_context(Spool(folder))
                spools[name].append(values)
            move(block.stop, len(samples), "calibrating")
        return {name: spool.mapped() for name, spool in spools.items()}


def _columns(calibrated: Calibrated, with_probs: bool) -> dict[str, Array]:
    columns: dict[str, Array] = {"probs": calibrated.probs} if with_probs else {}
    columns |= {"prediction": calibrated.predicted, "confidence": calibrated.confidence}
    if calibrated.log_proximity is not None:
        columns["proximity"] = np.exp(calibrated.log_proximity)
    return columns


def _write(path: Path, columns: Mapping[str, Array], force: bool) -> None:
    if path.suffix.lower() != ".csv":
        write_arrays(path, columns, force)
        return
    first = next(iter(columns.values()))
    with atomic_write(path, force) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["index", *columns])
        for block in blocks_of(first):
            some = (column[block].tolist() for column in columns.values())
            writer.writerows(zip(range(block.start, block.stop), *some, strict=True))
