"""Whether what is faster is also right: the errors of each calibrator on held-out halves of predictions files.

The rows are the model as it came, bases of ours and, where installed, structured vector scaling (probmetrics' SVS), the
best of the peers on our sets; each alone and corrected by proximity.
"""

import io
import warnings
from collections.abc import Sequence
from contextlib import redirect_stdout
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from proxcal.bundle import Predictions
from proxcal.experiments.evaluate import evaluate

METRICS = ("ece", "piece_minus_floor", "nll", "multiclass_nll", "accuracy")
OURS = " + proxcal"
_BASES = ("identity", "temperature", "ensemble-temperature", "neighbor-votes")
_NAMES = {"identity": "the model as it came", "SVSCalibrator": "SVS (probmetrics)"}
PEER_LEFT_OUT = "SVS: not installed: pip install 'proxcal[probmetrics]'"


def has_peer() -> bool:
    return find_spec("probmetrics") is not None


def run_quality(predictions: Predictions, seeds: Sequence[int]) -> dict[str, dict[str, float]]:
    """Means over the seeds' random halves, by calibrator and metric."""
    bases: list[Any] = list(_BASES)
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        if has_peer():
            bases.append(import_module("probmetrics.calibrators").SVSCalibrator(print_init_info=False))
        found = evaluate({"file": predictions}, bases=bases, seeds=seeds)
    rows: dict[str, dict[str, float]] = {}
    for base in dict.fromkeys(comparison.base for comparison in found.summary):
        compared = found.of("file", base)
        name = _NAMES.get(base, base)
        rows[name] = {metric: compared[metric].base_value for metric in METRICS}
        rows[name + OURS] = {metric: compared[metric].ours_value for metric in METRICS}
    return rows
