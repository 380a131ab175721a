"""base="auto": which base calibrator, by held-out multiclass log loss, the simpler one unless the other is clearly
better.

Only those are tried that cost little: the scores as they are, temperature scaling, ensemble temperature scaling and,
with enough samples a class, vector scaling, which may change predictions. All are judged on the same folds; the first
in that order within one paired standard error of the least mean loss is chosen.
"""

import warnings
from typing import Any

import numpy as np

from proxcal._held_out import simplest_within_one_error, standard_error
from proxcal._validation import Array, Floats, Input, Ints, ProxcalWarning
from proxcal.base._calibrator import BaseCalibrator
from proxcal.base._cross_fitting import N_FOLDS, held_out_blocks
from proxcal.base.ensemble_temperature import EnsembleTemperatureScaling
from proxcal.base.identity import Identity
from proxcal.base.temperature import TemperatureScaling
from proxcal.base.vector import VectorScaling

MIN_SAMPLES = 100  # folds of fewer than twenty samples say nothing
_PER_CLASS = 20  # samples, on average, that vector scaling is tried with
_TINY = float(np.finfo(np.float64).tiny)  # stands for a probability of exactly 0


def candidates(input: Input, n_samples: int, n_classes: int) -> dict[str, BaseCalibrator]:
    """From the simplest on."""
    tried: dict[str, BaseCalibrator] = {
        "identity": Identity(input=input),
        "temperature": TemperatureScaling(input=input),
        "ensemble-temperature": EnsembleTemperatureScaling(input=input),
    }
    if n_samples >= _PER_CLASS * n_classes:
        tried["vector"] = VectorScaling(input=input)
    return tried


def select_base(scores: Array, labels: Ints, input: Input, random_state: int) -> tuple[BaseCalibrator, dict[str, Any]]:
    """The base chosen, not yet fitted, and the record of why."""
    tried = candidates(input, *scores.shape)
    if len(labels) < MIN_SAMPLES:
        reason = f"{len(labels)} calibration samples are too few to choose a base by (under {MIN_SAMPLES})"
        warnings.warn(f"{reason}; temperature scaling is taken", ProxcalWarning, stacklevel=4)
        return tried["temperature"], {"chosen": "temperature", "reason": reason}
    losses = {name: _held_out_losses(base, scores, labels, random_state) for name, base in tried.items()}
    chosen, reason = simplest_within_one_error(losses, N_FOLDS)
    return tried[chosen], {
        "chosen": chosen,
        "reason": reason,
        "n_folds": N_FOLDS,
        "log_loss": {name: float(loss.mean()) for name, loss in losses.items()},
        "standard_error_of_gain": {
            name: standard_error(losses["identity"] - loss, N_FOLDS)
            for name, loss in losses.items()
            if name != "identity"
        },
    }


def _held_out_losses(base: BaseCalibrator, scores: Array, labels: Ints, random_state: int) -> Floats:
    losses = np.empty(len(labels))
    for places, rows in held_out_blocks(base, scores, labels, random_state):
        losses[places] = -np.log(np.maximum(rows[np.arange(len(rows)), labels[places]], _TINY))
    return losses
