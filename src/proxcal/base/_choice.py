"""Which base calibrator an argument means: the names that ProCal and the command line take, or an object."""

from typing import Any

from sklearn.base import clone

from proxcal._validation import Input
from proxcal.base._calibrator import BaseCalibrator
from proxcal.base.ensemble_temperature import EnsembleTemperatureScaling
from proxcal.base.foreign import ForeignCalibrator
from proxcal.base.histogram import HistogramBinning
from proxcal.base.identity import Identity
from proxcal.base.isotonic import IsotonicRegression
from proxcal.base.multi_isotonic import MultiIsotonicRegression
from proxcal.base.neighbor_temperature import NeighborTemperatureScaling
from proxcal.base.neighbor_votes import NeighborVotes
from proxcal.base.parameterized_temperature import ParameterizedTemperatureScaling
from proxcal.base.temperature import TemperatureScaling
from proxcal.base.vector import VectorScaling

BASES: dict[str, type[BaseCalibrator]] = {
    "identity": Identity,
    "temperature": TemperatureScaling,
    "ensemble-temperature": EnsembleTemperatureScaling,
    "parameterized-temperature": ParameterizedTemperatureScaling,
    "neighbor-temperature": NeighborTemperatureScaling,
    "neighbor-votes": NeighborVotes,
    "vector": VectorScaling,
    "histogram": HistogramBinning,
    "isotonic": IsotonicRegression,
    "multi-isotonic": MultiIsotonicRegression,
}


def make_base(base: Any, input: Input = "logits") -> BaseCalibrator:
    """An unfitted base calibrator for this kind of scores, whatever kind the object was made for; objects are copied,
    never fitted in place."""
    if isinstance(base, str) and base in BASES:
        return BASES[base](input=input)
    if isinstance(base, type) or not (hasattr(base, "fit") and hasattr(base, "predict_proba")):
        names = ", ".join(map(repr, BASES))
        raise ValueError(f"base must be one of {names}, or an object with fit and predict_proba; got {base!r}")
    if isinstance(base, BaseCalibrator):
        copied: BaseCalibrator = clone(base).set_params(input=input)
        return copied
    return ForeignCalibrator(calibrator=base, input=input)
