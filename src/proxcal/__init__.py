"""Calibrated confidence that holds where data is sparse.

`ProCal` calibrates, `piece` and `ece` measure, `bias_test` tests, `evaluate` compares, `sweep` does so for
many models, `audit` reports; README.md has an example of ten lines.
"""

from importlib.metadata import version

from proxcal._validation import ProxcalWarning
from proxcal.base import (
    EnsembleTemperatureScaling,
    HistogramBinning,
    Identity,
    IsotonicRegression,
    MultiIsotonicRegression,
    NeighborTemperatureScaling,
    NeighborVotes,
    ParameterizedTemperatureScaling,
    TemperatureScaling,
    VectorScaling,
)
from proxcal.bias import adjust_p_values, bias_test, overfitting_by_proximity, proximity_groups
from proxcal.bundle import Predictions
from proxcal.datasets import load_demo
from proxcal.experiments import CompressionReport, Evaluation, Sweep, compression_report, evaluate, sweep
from proxcal.informed import BinMeanShift, DensityRatio, NeighborhoodLogistic, ProximityLogistic
from proxcal.metrics import (
    ace,
    brier,
    classwise_ece,
    confidence_interval,
    cumulative_difference,
    debiased,
    ece,
    mce,
    multiclass_nll,
    nll,
    noise_floor,
    paired_difference,
    piece,
    smooth_ece,
)
from proxcal.monitoring import Monitor, WindowRecord
from proxcal.procal import ProCal
from proxcal.proximity import Neighbors, Proximity, evidence
from proxcal.report import Audit, audit

__version__ = version("proxcal")

__all__ = [
    "Audit",
    "BinMeanShift",
    "CompressionReport",
    "DensityRatio",
    "EnsembleTemperatureScaling",
    "Evaluation",
    "HistogramBinning",
    "Identity",
    "IsotonicRegression",
    "Monitor",
    "MultiIsotonicRegression",
    "NeighborTemperatureScaling",
    "NeighborVotes",
    "NeighborhoodLogistic",
    "Neighbors",
    "ParameterizedTemperatureScaling",
    "Predictions",
    "ProCal",
    "ProxcalWarning",
    "Proximity",
    "ProximityLogistic",
    "Sweep",
    "TemperatureScaling",
    "VectorScaling",
    "WindowRecord",
    "ace",
    "adjust_p_values",
    "audit",
    "bias_test",
    "brier",
    "classwise_ece",
    "compression_report",
    "confidence_interval",
    "cumulative_difference",
    "debiased",
    "ece",
    "evaluate",
    "evidence",
    "load_demo",
    "mce",
    "multiclass_nll",
    "nll",
    "noise_floor",
    "overfitting_by_proximity",
    "paired_difference",
    "piece",
    "proximity_groups",
    "smooth_ece",
    "sweep",
]
