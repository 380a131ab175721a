"""Base calibrators: scores to probabilities, knowing the scores alone. One file a method."""

from proxcal.base._calibrator import BaseCalibrator
from proxcal.base._choice import BASES, make_base
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

__all__ = [
    "BASES",
    "BaseCalibrator",
    "EnsembleTemperatureScaling",
    "ForeignCalibrator",
    "HistogramBinning",
    "Identity",
    "IsotonicRegression",
    "MultiIsotonicRegression",
    "NeighborTemperatureScaling",
    "NeighborVotes",
    "ParameterizedTemperatureScaling",
    "TemperatureScaling",
    "VectorScaling",
    "make_base",
]
