"""Exact neighbours by torch on one device or several: each gets a part of the references, and the parts' neighbours are
merged by distance.

Parts are as large as the memory allowed. Where they all fit at once they stay on their devices; where not, each is
brought, searched and let go in turn, so the references may be larger than a device.
"""

import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np

from proxcal._extras import require
from proxcal._validation import Array, Floats, Ints
from proxcal.proximity._shard import Shard
from proxcal.proximity.references import Neighbors, References, nearest_of_parts

_GIB = 1 << 30
_OF_FREE = 0.8  # of a GPU's memory, where no limit is given
_ON_CPU = 4.0  # GiB
_LEAST_ROWS = 1 << 12  # whose search any limit must allow


class TorchSearch:
    """`devices` as torch names them, separated by commas; `memory` is the GiB that may be taken of each."""

    def __init__(self, references: References, devices: str, memory: float | None) -> None:
        self._torch = require("torch", "torch", f"device={devices!r}")
        self._references = references
        self._devices = [self._device(name.strip()) for name in devices.split(",")]
        n, d = references.rows.shape
        self._limit = min(self._bytes_allowed(device, memory) for device in self._devices)
        row = d * (references.rows.itemsize + 4) + 64
        least = 2 * row * min(n, _LEAST_ROWS)
        if self._limit < least:
            raise ValueError(
                f"device_memory is {self._limit / _GIB:.3g} GiB; rows of {d} columns need {1.05 * least / _GIB:.3g}"
            )
        n_parts = max(len(self._devices), -(-n * row // (self._limit // 2)))
        ends = np.linspace(0, n, min(n, n_parts) + 1).astype(int).tolist()
        parts = [slice(start, stop) for start, stop in pairwise(ends)]
        self._parts = [parts[i :: len(self._devices)] for i in range(len(self._devices))]
        self._kept: dict[int, Shard] = {}

    def tune(self, k: int) -> float:
        return 1.0

    def kept(self) -> dict[str, Array]:
        return {}

    def search(self, rows: Array, scale: Floats, k: int, own: Ints | None) -> Neighbors:
        """As every backend's; see `references.Searcher`."""
        queries, query_scale = self._tensor(rows), self._tensor(scale)
        selves = None if own is None else self._tensor(own)

        def on_device(i: int) -> list[Neighbors]:
            found = []
            for start, shard in self._shards(i):
                mine = None if selves is None else selves - start
                distances, indices = shard.nearest(queries, query_scale, k, mine)
                found.append(Neighbors(distances.cpu().numpy(), indices.cpu().numpy() + start))
            return found

        with ThreadPoolExecutor(len(self._devices)) as pool:
            found = [part for some in pool.map(on_device, range(len(self._devices))) for part in some]
        return nearest_of_parts(found, k)

    def _shards(self, i: int) -> Iterator[tuple[int, Shard]]:
        """The parts of device i, each with where it starts."""
        for part in self._parts[i]:
            shard = self._kept.get(part.start) or self._shard(i, part)
            if len(self._parts[i]) == 1:
                self._kept[part.start] = shard
            yield part.start, shard

    def _shard(self, i: int, part: slice) -> Shard:
        device = self._devices[i]
        references = self._references
        rows, scale = self._tensor(references.rows[part]), self._tensor(references.scale[part])
        return Shard(
            self._torch,
            rows.to(device),
            scale.to(device),
            self._tensor(references.center).to(device),
            dtype=self._torch.float32 if device.type == "cpu" else self._torch.float16,
            work=self._limit // 2,
        )

    def _tensor(self, array: Array) -> Any:
        """The array, its memory shared where torch knows its type."""
        size = min(array.dtype.itemsize, 8)  # torch has no longer floats
        native = np.ascontiguousarray(array, dtype=f"{array.dtype.kind}{size}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of read-only arrays: nothing here writes to them
            return self._torch.from_numpy(native)

    def _device(self, name: str) -> Any:
        try:
            return self._torch.empty(1, dtype=self._torch.float64, device=name).device
        except (RuntimeError, AssertionError, TypeError) as error:
            reason = str(error).partition("\n")[0]
            raise ValueError(
                f'device has {name!r}, which torch cannot use here ({reason}); take "cpu" or None'
            ) from None

    def _bytes_allowed(self, device: Any, memory: float | None) -> int:
        if memory is not None:
            return int(memory * _GIB)
        if device.type == "cuda":
            return int(_OF_FREE * self._torch.cuda.mem_get_info(device)[0])
        return int(_ON_CPU * _GIB)
