"""Proximity to a reference set that no machine needs to hold whole."""

import os
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Self, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from proxcal._ray import connect
from proxcal._validation import Array, check_choice, check_integer
from proxcal.integrations.ray._search import USE, ShardedSearch
from proxcal.integrations.ray._shard import ReferenceFile
from proxcal.proximity import Neighbors, Proximity
from proxcal.proximity.backends import Index, check_backend
from proxcal.proximity.proximity import Metric, check_neighbors
from proxcal.proximity.references import References

FilePath = str | os.PathLike[str]


class ShardedProximity(Proximity):
    """Proximity of samples to references that lie in parts on the machines of a Ray cluster, each part in an actor.

    What it finds is what `Proximity(index="exact")` finds, bit for bit. An actor that dies, or whose machine does, is
    built again and asked again.

    Parameters
    ----------
    n_neighbors, metric, normalize, device, device_memory, chunk_size : see `Proximity`; the device is each actor's.
    n_shards : parts that references are cut into; one for each machine of the cluster unless told.
    actor_options : of Ray for each actor. `num_cpus` is also the number of its threads, 1 unless told; a device
        "cuda" needs `num_gpus`.
    """

    index: Index = "exact"

    def __init__(
        self,
        *,
        n_neighbors: int = 10,
        metric: Metric = "euclidean",
        normalize: bool = True,
        device: str | None = None,
        device_memory: float | None = None,
        chunk_size: int = 512,
        n_shards: int | None = None,
        actor_options: Mapping[str, Any] | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.normalize = normalize
        self.device = device
        self.device_memory = device_memory
        self.chunk_size = chunk_size
        self.n_shards = n_shards
        self.actor_options = actor_options

    @classmethod
    def of(
        cls, proximity: Proximity, *, n_shards: int | None = None, actor_options: Mapping[str, Any] | None = None
    ) -> Self:
        """The references of a search that is fitted, compressed or not, cut into parts and put into Ray's object
        store."""
        if proximity.index != "exact":
            raise ValueError(
                f"proximity has index={proximity.index!r}; only an exact search finds the same neighbours in parts: fit"
                ' it with index="exact"'
            )
        check_is_fitted(proximity)
        references, settings = proximity._references, proximity.get_params()
        del settings["index"]
        made = cls(**settings, n_shards=n_shards, actor_options=actor_options)
        made.reduction_, made.compression_ = proximity.reduction_, proximity.compression_
        return made._hold(references)

    def fit_files(self, files: Sequence[FilePath], *, prefix: str = "") -> Self:
        """Take the `features` of predictions files (.npz or .safetensors), a part a file, as the references; they
        count in the order of the files. Each actor maps its own file, so every machine must see them all."""
        check_choice("metric", self.metric, ("euclidean", "cosine"))
        check_backend(self.index, self.device, self.device_memory)
        if isinstance(files, str) or not len(files):
            raise ValueError(f"files must be a list of one predictions file or more; got {files!r}")
        paths = [os.path.abspath(file) for file in files]
        search = self._sharded([ReferenceFile(path, f"{prefix}features", self._unit) for path in paths])
        for path, width in zip(paths, search.widths, strict=True):
            if width != search.widths[0]:
                raise ValueError(f"{path} has {width} columns; {paths[0]} has {search.widths[0]}: give one layer's")
        check_neighbors(self.n_neighbors, search.n_references)
        return self._take(search)

    def close(self) -> None:
        """End the actors now and not when nothing refers to them any longer."""
        self._sharded_search.close()
        del self._searcher

    @property
    def n_references(self) -> int:
        return self._sharded_search.n_references

    @property
    def n_columns(self) -> int:
        return self._sharded_search.widths[0] if self.reduction_ is None else self.reduction_.mean_.size

    @property
    def references_(self) -> Array:  # type: ignore[override]
        raise ValueError(
            "references_ lie in parts on a cluster: save, compress or add to the search or the calibrator that they"
            " came from"
        )

    def state_arrays(self) -> dict[str, Any]:
        return {"references_": self.references_}

    def _hold(self, references: References) -> Self:
        n = len(references.rows)
        ends = np.linspace(0, n, min(n, self._n_shards()) + 1).astype(int).tolist()
        return self._take(self._sharded([references.part(slice(*pair)) for pair in pairwise(ends)]))

    def _take(self, search: ShardedSearch) -> Self:
        self._searcher, self.recall_ = search, 1.0
        return self

    def _n_shards(self) -> int:
        if self.n_shards is None:
            return sum(bool(node["Alive"]) for node in connect(USE).nodes())
        return check_integer("n_shards", self.n_shards, at_least=1)

    def _sharded(self, sources: Sequence[References | ReferenceFile]) -> ShardedSearch:
        settings = {name: getattr(self, name) for name in ("device", "chunk_size", "device_memory")}
        return ShardedSearch(sources, settings, self.actor_options or {})

    def _nearest_of_references(self, k: int) -> Neighbors:
        return self._in_metric(self._sharded_search.nearest_of_references(k, self.reduction_ is not None))

    @property
    def _sharded_search(self) -> ShardedSearch:
        check_is_fitted(self)
        return cast(ShardedSearch, self._searcher)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_searcher")

    def __getstate__(self) -> dict[str, Any]:
        """With the actors' handles, which Ray takes to its workers."""
        return dict(vars(self))
