"""Pictures of calibration and of proximity bias. Imported on its own, so that matplotlib costs only those who draw."""

from proxcal.plots.bias_index import BiasIndexDisplay
from proxcal.plots.cumulative import CumulativeDisplay
from proxcal.plots.density import DensityDisplay, DensityMaps
from proxcal.plots.error_by_model import ErrorByModelDisplay
from proxcal.plots.growth import GrowthDisplay, GrowthPoint
from proxcal.plots.overfitting import OverfittingDisplay
from proxcal.plots.proximity import ProximityCurve, ProximityDisplay
from proxcal.plots.reliability import ReliabilityCurve, ReliabilityDisplay, before_after
from proxcal.plots.shift import ShiftDisplay

__all__ = [
    "BiasIndexDisplay",
    "CumulativeDisplay",
    "DensityDisplay",
    "DensityMaps",
    "ErrorByModelDisplay",
    "GrowthDisplay",
    "GrowthPoint",
    "OverfittingDisplay",
    "ProximityCurve",
    "ProximityDisplay",
    "ReliabilityCurve",
    "ReliabilityDisplay",
    "ShiftDisplay",
    "before_after",
]
