"""Informed calibrators: (confidence, proximity, evidence) to a better confidence. One file a method, and the choice."""

from proxcal.informed._calibrator import InformedCalibrator, Samples
from proxcal.informed._normal_scores import NormalScores
from proxcal.informed.bin_mean_shift import BinMeanShift
from proxcal.informed.density_ratio import DensityRatio
from proxcal.informed.logistic import ProximityLogistic
from proxcal.informed.neighborhood import NeighborhoodLogistic
from proxcal.informed.selection import select

INFORMED: dict[str, type[InformedCalibrator]] = {
    "density-ratio": DensityRatio,
    "bin-mean-shift": BinMeanShift,
    "logistic": ProximityLogistic,
    "neighborhood": NeighborhoodLogistic,
}

__all__ = [
    "INFORMED",
    "BinMeanShift",
    "DensityRatio",
    "InformedCalibrator",
    "NeighborhoodLogistic",
    "NormalScores",
    "ProximityLogistic",
    "Samples",
    "select",
]
