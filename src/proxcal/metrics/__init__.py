"""How wrong a confidence is: calibration errors with their noise floors and intervals, and proper scores."""

from proxcal.metrics.binned import BinnedError, ace, ece, mce, piece
from proxcal.metrics.binning import BinTable
from proxcal.metrics.classwise import ClasswiseError, classwise_ece
from proxcal.metrics.cumulative import CumulativeDifference, cumulative_difference
from proxcal.metrics.floors import noise_floor
from proxcal.metrics.intervals import wilson_interval
from proxcal.metrics.paired import PairedDifference, paired_difference
from proxcal.metrics.scores import MeanLoss, brier, multiclass_nll, nll
from proxcal.metrics.smooth import smooth_ece
from proxcal.metrics.uncertainty import MetricInterval, confidence_interval, debiased

__all__ = [
    "BinTable",
    "BinnedError",
    "ClasswiseError",
    "CumulativeDifference",
    "MeanLoss",
    "MetricInterval",
    "PairedDifference",
    "ace",
    "brier",
    "classwise_ece",
    "confidence_interval",
    "cumulative_difference",
    "debiased",
    "ece",
    "mce",
    "multiclass_nll",
    "nll",
    "noise_floor",
    "paired_difference",
    "piece",
    "smooth_ece",
    "wilson_interval",
]
