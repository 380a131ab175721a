"""The exact search for the nearest references, of fixed shape: what a compiler and ONNX can take whole.

As in `proxcal.proximity.exact`, one float32 product ranks the references by ‖b‖²/2 − a·b, queries moved by their mean,
and the winners, a few more than are sought, are measured in float64. What is left out is the second look at queries for
which those few were too few: where more references than that lie equally far but for rounding (a heap of copies), which
of them count may differ from NumPy's choice.
"""

from typing import NamedTuple

import numpy as np

from proxcal.integrations.torch.calibration._frozen import Frozen, Tensor, torch
from proxcal.proximity import Proximity

_SPARE = 8  # candidates beyond those sought
_TILE = 1 << 16  # references a product: bounds the block of keys


class Near(NamedTuple):
    """The nearest references of each sample, nearest first: both (n, k)."""

    distances: Tensor
    indices: Tensor


class NeighborSearch(Frozen):
    """The k nearest references of each row. They are kept in float32, or in float16 where they came so."""

    def __init__(self, fitted: Proximity, k: int) -> None:
        super().__init__()
        self.n_columns = fitted.n_columns
        self._k, self._unit, self._cosine = k, fitted._unit, fitted.metric == "cosine"
        self._hold_as(np.float16 if fitted.references_.dtype == np.float16 else np.float32, rows=fitted.references_)
        self._hold_as(np.float32, half_square=fitted.half_square_)
        self._hold(scale=fitted.scale_, center=fitted.center_)
        self._reduced = fitted.reduction_ is not None
        if fitted.reduction_ is not None:
            self._hold(mean=fitted.reduction_.mean_, axes=fitted.reduction_.axes_, cosine=fitted.reduction_.cosine_)

    def forward(self, features: Tensor) -> Near:
        queries = self._queries(features.double())
        found = self._candidates((queries - self.center).float())
        rows = self.rows.index_select(0, found.flatten()).view(*found.shape, -1)
        apart = queries[:, None] - rows * self.scale[found][:, :, None]  # the factor makes it float64
        near = nearest_first(torch.linalg.vector_norm(apart, dim=2), found, self._k)
        return Near(near.distances.square() / 2, near.indices) if self._cosine else near

    def _queries(self, rows: Tensor) -> Tensor:
        if self._unit:
            length = rows.square().sum(1, keepdim=True).sqrt()
            rows = rows / torch.where(length > 0, length, 1)
        return self._components(rows - self.mean) if self._reduced else rows

    def _components(self, moved: Tensor) -> Tensor:
        """As `Reduction.queries`."""
        leading = moved @ self.axes
        rest = (moved.square().sum(1, keepdim=True) - leading.square().sum(1, keepdim=True)).clamp(min=0)
        shared, own = (self.cosine * rest).sqrt(), ((1 - self.cosine) * rest).sqrt()
        return torch.cat([leading, shared, torch.zeros_like(own), own], dim=1)

    def _candidates(self, moved: Tensor) -> Tensor:
        """Indices of the nearest by their keys, in no order."""
        n = self.rows.shape[0]
        m = min(self._k + _SPARE, n)
        keys, found = [], []
        for start in range(0, n, _TILE):
            stop = min(start + _TILE, n)
            best = self._keys(moved, start, stop).topk(min(m, stop - start), dim=1, sorted=False)
            keys.append(best.values)
            found.append(best.indices + start)
        best = torch.cat(keys, dim=1).topk(m, dim=1, sorted=False).indices
        return torch.cat(found, dim=1).gather(1, best)

    def _keys(self, moved: Tensor, start: int, stop: int) -> Tensor:
        products = moved @ self.rows[start:stop].float().T
        return torch.addcmul(-self.half_square[start:stop], products, self.scale[start:stop].float())


def nearest_first(distances: Tensor, indices: Tensor, k: int) -> Near:
    """Ordered by distance, and by index among equals: each goes where so many come before it."""
    own, other = distances[:, :, None], distances[:, None, :]
    first = (other < own) | ((other == own) & (indices[:, None, :] < indices[:, :, None]))
    place = first.sum(2)
    distances, indices = (torch.zeros_like(some).scatter(1, place, some)[:, :k] for some in (distances, indices))
    return Near(distances, indices)
