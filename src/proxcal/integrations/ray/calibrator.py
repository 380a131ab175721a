"""A ProCal whose references lie in parts on a cluster."""

from collections.abc import Mapping
from copy import copy
from typing import Any

from numpy.typing import ArrayLike
from sklearn.base import clone

from proxcal._validation import check_length
from proxcal.base._bare import check_labelled
from proxcal.integrations.ray.proximity import ShardedProximity
from proxcal.procal import ProCal


def sharded(
    calibrator: ProCal, *, n_shards: int | None = None, actor_options: Mapping[str, Any] | None = None
) -> ProCal:
    """The fitted calibrator with its references cut into parts, an actor a part (see `ShardedProximity`); it gives the
    same, bit for bit. The one given stays as it is."""
    search = calibrator._search_kept("shard")
    made = copy(calibrator)
    made.proximity_ = ShardedProximity.of(search, n_shards=n_shards, actor_options=actor_options)
    return made


def fit_sharded(calibrator: ProCal, scores: ArrayLike, labels: ArrayLike, proximity: ShardedProximity) -> ProCal:
    """A calibrator with the settings of the one given, fitted on samples whose features are the references of
    `proximity`, in their order; how neighbours are sought is as `proximity` says."""
    made: ProCal = clone(calibrator)
    same = ("n_neighbors", "metric", "normalize", "device", "index")
    made.set_params(**{name: getattr(proximity, name) for name in same})
    checked, y = check_labelled(scores, labels, made.input)
    check_length("labels", len(y), proximity.n_references)
    k = made._n_searched()
    made.proximity_ = proximity
    neighbors = proximity.neighbors(k=min(k, len(y) - 1)) if k else None
    return made._fit_with(checked, y, neighbors)
