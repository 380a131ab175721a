"""Features to neighbours, and neighbours to proximity and evidence."""

from proxcal.proximity.evidence import evidence
from proxcal.proximity.proximity import Proximity, log_proximity
from proxcal.proximity.references import Neighbors

__all__ = ["Neighbors", "Proximity", "evidence", "log_proximity"]
