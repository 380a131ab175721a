"""Whether confidence is wrong in a different way where data is sparse: shown by proximity group, and tested."""

from proxcal.bias.groups import ProximityGroups, proximity_groups

__all__ = ["ProximityGroups", "proximity_groups"]
