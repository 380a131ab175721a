"""Features to neighbours, and neighbours to proximity and evidence."""

from proxcal.proximity.evidence import evidence
from proxcal.proximity.exact import Neighbors
from proxcal.proximity.proximity import Proximity, log_proximity

__all__ = ["Neighbors", "Proximity", "evidence", "log_proximity"]
