"""The pictures of a sweep: the bias index of all models, and each calibration error of all models, by calibrator."""

from pathlib import Path
from typing import Any

from proxcal._files import atomic_write, check_writable
from proxcal.experiments import Sweep

BIAS = "bias-index.png"
METRICS = ("ece", "ace", "mce", "piece")  # those of the paper's picture


def check_folder(folder: Path, force: bool) -> None:
    """Before any work: the folder, made if it is missing, takes the pictures."""
    folder.mkdir(exist_ok=True)
    for path in (folder / BIAS, *(folder / f"{metric}.png" for metric in METRICS)):
        if path.exists() and not force:
            raise ValueError(f"{path} exists; give --figures another folder (--force would start the sweep anew too)")
        check_writable(path, force)


def draw(sweep: Sweep, folder: Path, force: bool) -> list[Path]:
    """The pictures' paths; that of the bias index is left out where no model has one."""
    from proxcal.plots import BiasIndexDisplay, ErrorByModelDisplay  # noqa: PLC0415 (matplotlib costs only this)

    figures: dict[str, Any] = {}
    if any(model["bias_index"] is not None for model in sweep.models):
        figures[BIAS] = BiasIndexDisplay.from_results(sweep.models).figure_
    for metric in METRICS:
        figures[f"{metric}.png"] = ErrorByModelDisplay.from_results(sweep.models, metric).figure_
    for name, figure in figures.items():
        with atomic_write(folder / name, force) as temporary:
            figure.savefig(temporary, dpi=120)
    return [folder / name for name in figures]
