"""proxcal on a Ray cluster: datasets of any length, and reference sets that no machine holds whole. Needs the `ray`
extra."""

from proxcal.integrations.ray.calibrator import fit_sharded, sharded
from proxcal.integrations.ray.dataset import apply_dataset
from proxcal.integrations.ray.proximity import ShardedProximity

__all__ = ["ShardedProximity", "apply_dataset", "fit_sharded", "sharded"]
