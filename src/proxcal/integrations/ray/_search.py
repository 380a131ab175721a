"""The exact search among references that lie in parts on a cluster: every part gives its k nearest, and of those the k
nearest are the result.

Distances are measured in float64 one pair at a time, and of references at the same distance the first is taken. So the
result is that of one machine, bit for bit, however the references are cut. Queries travel in blocks, of which a few are
on their way at a time: the driver holds those and the neighbours found.
"""

import warnings
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from proxcal._ray import connect
from proxcal._validation import Array, Floats, Ints, ProxcalWarning, row_blocks
from proxcal.integrations.ray._shard import ReferenceFile, Shard
from proxcal.proximity import Neighbors
from proxcal.proximity.references import References, nearest_of_parts

_BLOCK_BYTES = 64 << 20  # of queries, as float64
_ON_THEIR_WAY = 2  # blocks
_PATIENCE = 60  # seconds
_SURVIVES = {"num_cpus": 1, "max_restarts": -1, "max_task_retries": -1, "scheduling_strategy": "SPREAD"}
USE = "a reference set in shards"


class ShardedSearch:
    """`sources` are the parts in order; `settings` those of each part's search, `options` of its actor."""

    def __init__(
        self, sources: Sequence[References | ReferenceFile], settings: Mapping[str, Any], options: Mapping[str, Any]
    ) -> None:
        ray = connect(USE)
        actor = ray.remote(**(_SURVIVES | dict(options)))(Shard)
        # Kept, so that they are there for an actor that is built again.
        self._sources = [ray.put(source) if isinstance(source, References) else source for source in sources]
        self._actors = [actor.remote(source, dict(settings)) for source in self._sources]
        shapes = [actor.shape.remote() for actor in self._actors]
        _tell_of_waiting(shapes)
        self._shapes: list[tuple[int, int]] = _get(shapes)
        ends = np.cumsum([n for n, _ in self._shapes]).tolist()
        self._starts: list[int] = [0, *ends[:-1]]
        self.n_references = int(ends[-1])

    @property
    def widths(self) -> list[int]:
        """Columns of each part."""
        return [d for _, d in self._shapes]

    def search(self, rows: Array, scale: Floats, k: int, own: Ints | None) -> Neighbors:
        """As every backend's; see `references.Searcher`."""
        ray = connect(USE)
        blocks = (ray.put((np.asarray(rows[block]), scale[block])) for block in _blocks(*rows.shape))
        return self._nearest(blocks, k, own)

    def nearest_of_references(self, k: int, reduced: bool) -> Neighbors:
        """The k nearest of each reference among the others. The references go from one actor to the others."""
        parts = zip(self._actors, self._shapes, strict=True)
        blocks = (actor.rows.remote(block, reduced) for actor, shape in parts for block in _blocks(*shape))
        return self._nearest(blocks, k, np.arange(self.n_references))

    def tune(self, k: int) -> float:
        return 1.0

    def kept(self) -> dict[str, Array]:
        return {}

    def close(self) -> None:
        ray = connect(USE)
        for actor in self._actors:
            ray.kill(actor)

    def _nearest(self, blocks: Iterable[Any], k: int, own: Ints | None) -> Neighbors:
        """Of blocks of queries in the object store; a query that is a reference is among its own neighbours until
        these are merged."""
        found = list(self._merged(blocks, k if own is None else k + 1))
        whole = Neighbors(
            np.concatenate([some.distances for some in found]), np.concatenate([some.indices for some in found])
        )
        return whole if own is None else whole.without(own)

    def _merged(self, blocks: Iterable[Any], k: int) -> Iterator[Neighbors]:
        waiting: deque[list[Any]] = deque()
        for block in blocks:
            parts = zip(self._actors, self._starts, strict=True)
            waiting.append([actor.nearest.remote(block, k, start) for actor, start in parts])
            if len(waiting) == _ON_THEIR_WAY:
                yield nearest_of_parts(_get(waiting.popleft()), k)
        for parts_found in waiting:
            yield nearest_of_parts(_get(parts_found), k)


def _tell_of_waiting(shapes: list[Any]) -> None:
    ray = connect(USE)
    missing = ray.wait(shapes, num_returns=len(shapes), timeout=_PATIENCE)[1]
    if missing:
        warnings.warn(
            f"{len(missing)} of {len(shapes)} shards have not started in {_PATIENCE} s; the cluster has"
            f" {ray.available_resources().get('CPU', 0):g} processors free, and each shard waits for those in"
            " actor_options",
            ProxcalWarning,
            stacklevel=2,
        )


def _blocks(n: int, d: int) -> Iterator[slice]:
    return row_blocks(n, d, _BLOCK_BYTES)


def _get(references: list[Any]) -> list[Any]:
    """What actors gave; a ValueError of theirs as it was there."""
    ray = connect(USE)
    try:
        return list(ray.get(references))
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, (ValueError, OSError)):
            raise error.cause from None
        raise
