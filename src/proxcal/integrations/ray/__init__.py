"""proxcal on a Ray cluster: reference sets that no machine holds whole. Needs the `ray`
extra."""

from proxcal.integrations.ray.calibrator import fit_sharded, sharded
from proxcal.integrations.ray.proximity import ShardedProximity

__all__ = ["ShardedProximity", "fit_sharded", "sharded"]
