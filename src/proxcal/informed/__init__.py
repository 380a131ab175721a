"""Informed calibrators: (confidence, proximity, evidence) to a better confidence. One file a method, and the choice."""

from proxcal.informed._calibrator import InformedCalibrator, Samples
from proxcal.informed._choice import INFORMED, make_informed, takes_evidence
from proxcal.informed._normal_scores import NormalScores
from proxcal.informed.bin_mean_shift import BinMeanShift
from proxcal.informed.chain import Chain
from proxcal.informed.density_ratio import DensityRatio
from proxcal.informed.logistic import ProximityLogistic
from proxcal.informed.neighborhood import NeighborhoodLogistic
from proxcal.informed.selection import select

__all__ = [
    "INFORMED",
    "BinMeanShift",
    "Chain",
    "DensityRatio",
    "InformedCalibrator",
    "NeighborhoodLogistic",
    "NormalScores",
    "ProximityLogistic",
    "Samples",
    "make_informed",
    "select",
    "takes_evidence",
]
