"""Base calibrators: scores to probabilities, knowing the scores alone. One file a method."""

from proxcal.base._calibrator import BaseCalibrator
from proxcal.base.identity import Identity
from proxcal.base.temperature import TemperatureScaling

__all__ = ["BaseCalibrator", "Identity", "TemperatureScaling"]
