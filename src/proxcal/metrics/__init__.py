"""How wrong a confidence is: calibration errors with their noise floors, and proper scores."""

from proxcal.metrics.binned import BinnedError, ace, ece, mce, piece
from proxcal.metrics.binning import BinTable
from proxcal.metrics.floors import noise_floor
from proxcal.metrics.intervals import wilson_interval
from proxcal.metrics.scores import MeanLoss, brier, multiclass_nll, nll

__all__ = [
    "BinTable",
    "BinnedError",
    "MeanLoss",
    "ace",
    "brier",
    "ece",
    "mce",
    "multiclass_nll",
    "nll",
    "noise_floor",
    "piece",
    "wilson_interval",
]
