"""Predictions for a calibrator that is there already: of the kind of scores that it takes."""

from pathlib import Path

from proxcal import Predictions, ProCal


def load_for(calibrator: ProCal, model: Path, path: Path, prefix: str = "") -> Predictions:
    """The predictions at `path`; `model` is where the calibrator came from."""
    samples = Predictions.load(path, prefix=prefix)
    if samples.input != calibrator.input:
        raise ValueError(f"{path} has {samples.input}; {model} was fitted on {calibrator.input}")
    return samples
