"""`proxcal fit`: calibration samples in, a calibrator in one file out."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from proxcal import Predictions, ProCal
from proxcal._files import check_writable
from proxcal.cli import _options as options
from proxcal.cli._accuracy_change import accuracy_change
from proxcal.cli._choice import print_choice
from proxcal.cli._terminal import facts, progress, stdout
from proxcal.experiments import informed_name
from proxcal.proximity.backends import INDEXES


def fit(
    calibration: Annotated[Path, typer.Argument(help=f"{options.PREDICTIONS_HELP} with labels and features.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the calibrator goes, e.g. model.proxcal.")],
    base: Annotated[str, typer.Option(help=options.BASE_HELP)] = "temperature",
    informed: options.Informed = None,
    rows: options.Rows = None,
    neighbors: options.Neighbors = None,
    metric: options.Metric = None,
    no_normalize: options.NoNormalize = False,
    index: Annotated[
        str | None, typer.Option(help=f"How neighbours are sought: {', '.join(INDEXES)}.", show_default="exact")
    ] = None,
    device: Annotated[
        str | None, typer.Option(help="Where torch seeks them: cpu, cuda, cuda:0,cuda:1.", show_default="NumPy does")
    ] = None,
    paper: options.Paper = False,
    prefix: options.Prefix = "",
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Learn a calibrator from predictions on samples that the model was not trained on."""
    check_writable(output, force)
    predictions = Predictions.load(calibration, prefix=prefix)
    if predictions.labels is None:
        raise ValueError(f"{calibration} has no {prefix}labels: nothing can be learned without them")
    make = ProCal.paper if paper else ProCal
    settings = options.settings(informed, rows, neighbors, metric, no_normalize, index=index, device=device)
    calibrator = make(base=base, input=predictions.input, **settings)
    with progress() as move:
        move(0, 1, f"fitting on {len(predictions)} samples")
        calibrator.fit(predictions.scores, predictions.labels, features=predictions.features)
    calibrator.save(output, overwrite=force)

    selection = calibrator.selection_ or {}
    search = getattr(calibrator, "proximity_", None)
    found: dict[str, Any] = {
        "output": str(output),
        "samples": len(predictions),
        "classes": predictions.n_classes,
        "base": selection.get("base", {}).get("chosen", base),
        "temperature": getattr(calibrator.base_, "temperature_", None),
        "accuracy_change": getattr(calibrator.base_, "accuracy_change_", None),
        "informed": informed_name(calibrator),
        "selection": calibrator.selection_,
        "neighbors": calibrator.n_neighbors,
        "index": getattr(search, "index_", None),
        "recall": getattr(search, "recall_", None),
        "rows": calibrator.rows,
    }
    if as_json:
        typer.echo(json.dumps(found, indent=1))
        return
    console = stdout()
    temperature, change = found["temperature"], found["accuracy_change"]
    console.print(
        facts(
            calibrator=output,
            learned_from=f"{found['samples']} samples, {found['classes']} classes",
            base=found["base"] if temperature is None else f"{found['base']}, T = {temperature:.4g}",
            informed=found["informed"],
            rows=calibrator.rows,
            index=_index(found) if index else None,
            predictions=None if change is None else accuracy_change(change),
        )
    )
    if "base" in selection:
        console.print(f"\nBase chosen on the calibration samples: {found['base']}\n({selection['base']['reason']}).")
    if "chosen" in selection:
        console.print()
        print_choice(console, selection)


def _index(found: dict[str, Any]) -> str:
    """What sought the neighbours, and how many of them it finds."""
    if found["recall"] is None:
        return "none: no neighbours are asked for"
    return f"{found['index']}, finds {100 * found['recall']:.1f} % of the neighbours"
