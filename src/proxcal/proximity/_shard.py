"""The exact search among the references that lie on one device, by torch: 16-bit products find candidates, float64
measures them, and whatever 16 bits may have hidden is sought again in float32.

Rows are moved by the references' mean and divided by their largest length. For a query a the nearest reference b has
the largest key a·b − ‖b‖²/2 − c. The last two terms ride in the product as columns more, each as the sum of two
16-bit numbers; c, the largest key among a few references, brings the keys that matter close to 0, where floats are
finest. Tiles of references pass under blocks of queries; of each row of keys the largest m > k stay. Had one more
reference belonged among the k, its key would be at most the least kept one plus a bound of the rounding: where that
leaves room for a distance shorter by more than a share of 1e-5, the query is searched again in float32.
"""

import importlib
import importlib.util
from collections.abc import Iterator
from typing import Any

Tensor = Any

_QUERIES, _TILE = 1 << 13, 1 << 16  # rows and columns of a block of keys, where memory allows
_PROBES = 1024
_PADDING = 8  # widths that tensor cores like
_ACCUMULATION = 2.0**-17  # of float32 sums, in keys of order 1
_SIGMAS = 4  # of the rounding of a product, taken as a random walk
_TOLERANCE = 1e-5  # share of a distance
_MEASURED_BYTES = 1 << 30


class Shard:
    """References on one device. `rows` (n, d) as they came, `scale` (n,) and `center` (d,) float64; `dtype` is that of
    the products, `work` the bytes that a search may take beside what is kept."""

    def __init__(self, torch: Any, rows: Tensor, scale: Tensor, center: Tensor, *, dtype: Any, work: int) -> None:
        self._torch, self.rows, self.scale, self.center, self.dtype = torch, rows, scale, center, dtype
        self._work = work
        self.radius = 1.0
        n, d = rows.shape
        self._block = max(1, work // (128 * d))  # rows of float64 and their copies
        longest = [self._moved(rows[b], scale[b]).norm(dim=1).max() for b in _blocks(n, self._block)]
        self.radius = torch.stack(longest).max().clamp_min(1e-300)
        width = -(-(d + 4) // _PADDING) * _PADDING
        self._keys = torch.empty((n, width), dtype=dtype, device=rows.device)
        for block in _blocks(n, self._block):
            self._keys[block] = self._key_columns(block, dtype)
        self._probes = self._keys[:: max(1, n // _PROBES)].clone()

    def nearest(self, rows: Tensor, scale: Tensor, k: int, own: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Distances, float64, and indices of the k nearest of scale · rows, nearest first, by index among equals;
        `own` is the reference that a row is itself, if any. Where there are fewer than k, distances are infinite."""
        torch, device = self._torch, self.rows.device
        distances = torch.full((len(rows), k), torch.inf, dtype=torch.float64, device=device)
        indices = torch.zeros((len(rows), k), dtype=torch.int64, device=device)
        certain = torch.ones(len(rows), dtype=torch.bool, device=device)
        size = max(1, min(_QUERIES, self._block))

        def search(which: Any, dtype: Any) -> None:
            some, some_scale = rows[which].to(device), scale[which].to(device)
            some_own = None if own is None else own[which].to(device)
            near, found, certain[which] = self._nearest_of_block(some, some_scale, k, some_own, dtype)
            distances[which, : near.shape[1]], indices[which, : near.shape[1]] = near, found

        for block in _blocks(len(rows), size):
            search(block, self.dtype)
        again = (~certain).nonzero()[:, 0].to(rows.device)
        self.n_searched_again = len(again)
        for block in _blocks(len(again), size):
            search(again[block], torch.float32)
        return distances, indices

    def _nearest_of_block(
        self, rows: Tensor, scale: Tensor, k: int, own: Tensor | None, dtype: Any
    ) -> tuple[Tensor, Tensor, Any]:
        """As `nearest`, by products in `dtype`; and whether no reference missed could be nearer."""
        torch, n = self._torch, len(self.rows)
        m = min(n, k + max(6, k // 4))
        queries = self._moved(rows, scale)
        norm = queries.norm(dim=1)
        share = torch.exp2(-norm.clamp_min(1).log2().ceil())  # a power of two: its product rounds nothing
        columns, c = self._query_columns(queries, share, dtype)
        keys, order = (found := self._candidates(columns, m, own))[0].sort(dim=1, descending=True)
        found = found[1].gather(1, order)
        rounding = torch.finfo(dtype).eps / 2
        of_products = _SIGMAS * rounding * columns[:, : rows.shape[1]].abs().amax(dim=1).double()

        def shortest(key: Tensor) -> Tensor:
            """No reference whose key came out at `key` or less is nearer than this."""
            hidden = key.double() * (1 + rounding * key.double().sign()) + of_products + _ACCUMULATION + c
            return (norm**2 - 2 * hidden / share).clamp_min(0).sqrt() * self.radius

        distances = torch.full(found.shape, torch.inf, dtype=torch.float64, device=rows.device)
        first = m if m == n else min(m, k + 2)
        distances[:, :first] = self._measure(rows, scale, found[:, :first])
        distances[keys == -torch.inf] = torch.inf  # the row itself, where all others were not enough
        if first < m:
            doubtful = _sure(distances, k, shortest(keys[:, first])).logical_not().nonzero()[:, 0]
            rest = self._measure(rows[doubtful], scale[doubtful], found[doubtful, first:])
            distances[doubtful, first:] = rest
        certain = True if m == n or dtype == torch.float32 else _sure(distances, k, shortest(keys[:, -1]))
        found, order = found.sort(dim=1)
        distances, order = distances.gather(1, order).sort(dim=1, stable=True)
        return distances[:, :k], found.gather(1, order)[:, :k], certain

    def _candidates(self, columns: Tensor, m: int, own: Tensor | None) -> tuple[Tensor, Tensor]:
        """The m largest keys of each query, and whose they are."""
        torch, n = self._torch, len(self.rows)
        best_keys, best = columns.new_empty((len(columns), 0)), self.scale.new_empty((len(columns), 0)).long()
        widest = max(8 * len(columns), 4 * columns.shape[1]) * columns.element_size()
        step = max(256, min(_TILE, self._work // widest))
        for block in _blocks(n, step):
            keys = columns @ self._tile(block, columns.dtype).T
            if own is not None:
                inside = ((own >= block.start) & (own < block.stop)).nonzero()[:, 0]
                keys[inside, own[inside] - block.start] = -torch.inf
            values, which = largest(torch, keys, min(m, keys.shape[1]))
            best_keys, best = torch.cat([best_keys, values], dim=1), torch.cat([best, which + block.start], dim=1)
            if best.shape[1] > m:
                best_keys, kept = best_keys.topk(m, dim=1, sorted=False)
                best = best.gather(1, kept)
        return best_keys, best

    def _measure(self, rows: Tensor, scale: Tensor, found: Tensor) -> Tensor:
        """Float64 distances from differences, which do not cancel."""
        if self.rows.device.type == "cuda" and importlib.util.find_spec("triton"):
            by_triton = importlib.import_module("proxcal.proximity._measure_triton")
            return by_triton.distances(rows, scale, self.rows, self.scale, found)
        torch = self._torch
        n_bytes = 24 * found.shape[1] * rows.shape[1]
        distances = torch.empty(found.shape, dtype=torch.float64, device=rows.device)
        for block in _blocks(len(rows), max(1, min(self._work // 4, _MEASURED_BYTES) // n_bytes)):
            points = (rows[block] * scale[block, None])[:, None, :]
            others = self.rows[found[block]] * self.scale[found[block]][:, :, None]
            mode = "donot_use_mm_for_euclid_dist"
            distances[block] = torch.cdist(points, others, compute_mode=mode)[:, 0]
        return distances

    def _moved(self, rows: Tensor, scale: Tensor) -> Tensor:
        return (rows * (scale / self.radius)[:, None]).sub_(self.center / self.radius)

    def _tile(self, tile: slice, dtype: Any) -> Tensor:
        if dtype == self.dtype:
            return self._keys[tile]
        parts = [slice(tile.start + b.start, tile.start + b.stop) for b in _blocks(tile.stop - tile.start, self._block)]
        return self._torch.cat([self._key_columns(part, dtype) for part in parts])

    def _key_columns(self, block: slice, dtype: Any) -> Tensor:
        """Of references: (b, −‖b‖²/2 in two, 1, 1)."""
        moved = self._moved(self.rows[block], self.scale[block])
        half = -moved.square().sum(dim=1) / 2
        one = self._torch.ones_like(half)
        return self._columns(moved, one, [*_in_two(half, dtype), one, one], dtype)

    def _query_columns(self, queries: Tensor, share: Tensor, dtype: Any) -> tuple[Tensor, Tensor]:
        """Of queries: (a, 1, 1) times `share`, −c in two; and c."""
        columns = self._columns(queries, share, [share, share], dtype)
        high, low = _in_two((columns @ self._probes.to(dtype).T).amax(dim=1).double(), dtype)
        d = queries.shape[1]
        columns[:, d + 2], columns[:, d + 3] = -high, -low
        return columns, high.double() + low

    def _columns(self, rows: Tensor, share: Tensor, more: list[Tensor], dtype: Any) -> Tensor:
        """share · rows and behind them single columns, with zeros up to the width of keys."""
        torch, (n, d) = self._torch, rows.shape
        columns = torch.zeros((n, self._keys.shape[1]), dtype=dtype, device=rows.device)
        torch.mul(rows, share[:, None], out=columns[:, :d])
        for place, values in enumerate(more):
            columns[:, d + place] = values
        return columns


def _sure(distances: Tensor, k: int, shortest: Tensor) -> Tensor:
    """Whether nothing at `shortest` or farther would change the k nearest by more than the tolerance."""
    return distances.sort(dim=1).values[:, k - 1] * (1 - _TOLERANCE) <= shortest


def largest(torch: Any, keys: Tensor, m: int) -> tuple[Tensor, Tensor]:
    """The m largest of each row and their columns, in no order: the m groups with the largest maxima hold them, as in
    `exact`."""
    n, n_columns = keys.shape
    size = int((n_columns / m) ** 0.5)
    if size < 2:
        values, columns = keys.topk(m, dim=1, sorted=False)
        return values, columns
    n_groups = n_columns // size
    maxima = keys[:, : size * n_groups].unflatten(1, (size, n_groups)).amax(dim=1)
    groups = maxima.topk(m, dim=1, sorted=False).indices
    steps = torch.arange(size, device=keys.device) * n_groups
    rest = torch.arange(size * n_groups, n_columns, device=keys.device).expand(n, -1)
    members = torch.cat([(groups[:, None, :] + steps[:, None]).flatten(1), rest], dim=1)
    values, chosen = keys.gather(1, members).topk(m, dim=1, sorted=False)
    return values, members.gather(1, chosen)


def _in_two(values: Tensor, dtype: Any) -> tuple[Tensor, Tensor]:
    """Float64 values as the sum of two of `dtype`."""
    high = values.to(dtype)
    return high, (values - high.double()).to(dtype)


def _blocks(n: int, size: int) -> Iterator[slice]:
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))
