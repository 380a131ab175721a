"""Calibrated confidence that holds where data is sparse."""

from importlib.metadata import version

from proxcal._validation import ProxcalWarning
from proxcal.base import HistogramBinning, Identity, IsotonicRegression, MultiIsotonicRegression, TemperatureScaling
from proxcal.bundle import Predictions
from proxcal.informed import BinMeanShift, DensityRatio, NeighborhoodLogistic, ProximityLogistic
from proxcal.metrics import ace, brier, ece, mce, nll, noise_floor, piece
from proxcal.procal import ProCal
from proxcal.proximity import Neighbors, Proximity, evidence

__version__ = version("proxcal")
