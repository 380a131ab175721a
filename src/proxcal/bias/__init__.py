"""Whether confidence is wrong in a different way where data is sparse: shown by proximity group, and tested."""

from proxcal.bias.comparison import BiasTest, bias_test
from proxcal.bias.groups import ProximityGroups, proximity_groups
from proxcal.bias.overfitting import OverfittingByProximity, overfitting_by_proximity
from proxcal.bias.significance import adjust_p_values

__all__ = [
    "BiasTest",
    "OverfittingByProximity",
    "ProximityGroups",
    "adjust_p_values",
    "bias_test",
    "overfitting_by_proximity",
    "proximity_groups",
]
