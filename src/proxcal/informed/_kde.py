"""Sums of product-Gaussian kernels over samples in the plane: exactly, a block of points at a time, or on a grid.

A sum is Σ_j w_j exp(-½ |(x - x_j) / h|²): one sample of weight 1 counts 1 where it lies. Everything is handed on as a
logarithm, so a ratio of two sums has its right value far from all samples too, where both underflow.

The grid spreads every sample over 4 × 4 nodes by cubic Lagrange weights, which keep its moments up to the third, and
smooths with the kernel itself, one matrix product an axis: with eight nodes to a bandwidth a sum is off by some 1e-5 of
itself. (Linear weights widen the kernel, and their error is a hundred times that.) Between nodes the logarithm is
interpolated, again cubically: it is the smoother, and for a lone sample exact.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from proxcal._validation import Bools, Floats, Ints, row_blocks

NODES_PER_BANDWIDTH = 8
MAX_NODES = 1024  # an axis; a bandwidth too small for that many needs exact sums
_STENCIL = 16  # nodes that share a sample
_PADDING = 3.0  # bandwidths around the samples
_EXPONENT_BYTES, _STENCIL_BYTES = 1 << 18, 1 << 20  # of a block: within the cache
_UNDERFLOW = 1e-280  # of a sum; then its logarithm is taken the long way
_GRID_NOISE = 1e-12  # below it a node may owe its value to the negative weights of cubic spreading
FARTHEST = 1e6  # bandwidths; points farther off count as this far, so that no square overflows


def log_kernel_sums(points: Floats, samples: Floats, weights: Floats, bandwidth: Floats) -> Floats:
    """At each of m points the logarithms of k weighted sums over n samples: (m, 2), (n, 2), (n, k), (2,) to (m, k)."""
    reach = FARTHEST * bandwidth
    points = np.clip(points, samples.min(axis=0) - reach, samples.max(axis=0) + reach) / bandwidth
    samples = samples / bandwidth
    sums = np.empty((len(points), weights.shape[1]))
    for block in row_blocks(len(points), len(samples), _EXPONENT_BYTES):
        exponent = _exponents(points[block], samples)
        rows = np.exp(exponent) @ weights
        faint = rows.min(axis=1) < _UNDERFLOW
        with np.errstate(divide="ignore"):
            rows = np.log(rows)
            rows[faint] = logsumexp(exponent[faint, :, None], b=weights, axis=1)
        sums[block] = rows
    return sums


def _exponents(points: Floats, samples: Floats) -> Floats:
    exponent = points[:, :1] - samples[:, 0]
    exponent *= exponent
    other = points[:, 1:] - samples[:, 1]
    other *= other
    exponent += other
    exponent *= -0.5
    return exponent


@dataclass(frozen=True)
class Grid:
    """Nodes at origin + spacing · (i, j)."""

    origin: Floats
    spacing: Floats
    shape: tuple[int, int]

    @classmethod
    def around(cls, samples: Floats, bandwidths: Floats) -> "Grid | None":
        """The grid that resolves the smaller of the bandwidths (a row each) on either axis; None if too many nodes."""
        padding = _PADDING * bandwidths.max(axis=0)
        low, high = samples.min(axis=0) - padding, samples.max(axis=0) + padding
        spacing = bandwidths.min(axis=0) / NODES_PER_BANDWIDTH
        n_nodes = np.ceil((high - low) / spacing) + 1
        if np.any(n_nodes > MAX_NODES):
            return None
        return cls(low, spacing, (int(n_nodes[0]), int(n_nodes[1])))

    def log_kernel_sums(self, samples: Floats, weights: Floats, bandwidth: Floats) -> Floats:
        """The logarithms of k weighted sums at the nodes, (rows, columns, k); -inf where the grid can't tell from 0."""
        kernels = [_kernel_matrix(n, step) for n, step in zip(self.shape, self.spacing / bandwidth, strict=True)]
        surfaces = np.empty((*self.shape, weights.shape[1]))
        for column, spread in enumerate(self._spread(samples, weights)):
            surfaces[..., column] = kernels[0] @ spread @ kernels[1]
        surfaces[surfaces < _GRID_NOISE] = 0
        with np.errstate(divide="ignore"):
            logarithms: Floats = np.log(surfaces)
        return logarithms

    def interpolate(self, surface: Floats, points: Floats) -> Floats:
        """Bicubic; NaN for points outside the grid and wherever one of the 4 × 4 nodes is NaN."""
        values = np.full(len(points), np.nan)
        covered = np.flatnonzero(self._covers(points))
        for block in row_blocks(len(covered), _STENCIL, _STENCIL_BYTES):
            nodes, shares = self._stencils(points[covered[block]])
            values[covered[block]] = np.einsum("ij,ij->i", surface.ravel()[nodes], shares)
        return values

    def _covers(self, points: Floats) -> Bools:
        x, y = ((points - self.origin) / self.spacing).T
        covered: Bools = (x >= 0) & (x <= self.shape[0] - 1) & (y >= 0) & (y <= self.shape[1] - 1)
        return covered

    def _spread(self, samples: Floats, weights: Floats) -> Floats:
        """The samples' k weights handed to their nodes: (k, rows, columns)."""
        n_nodes = self.shape[0] * self.shape[1]
        spread = np.zeros((weights.shape[1], n_nodes))
        for block in row_blocks(len(samples), _STENCIL, _STENCIL_BYTES):
            nodes, shares = self._stencils(samples[block])
            for column, weight in zip(spread, weights[block].T, strict=True):
                column += np.bincount(nodes.ravel(), (shares * weight[:, None]).ravel(), minlength=n_nodes)
        return spread.reshape(-1, *self.shape)

    def _stencils(self, points: Floats) -> tuple[Ints, Floats]:
        """The 16 nodes about each point (flat indices) and their cubic Lagrange weights."""
        position = (points - self.origin) / self.spacing
        first = np.clip(np.floor(position).astype(np.intp) - 1, 0, np.array(self.shape) - 4)
        shares = _lagrange(position - first)
        offsets = first[:, :, None] + np.arange(4)
        nodes = offsets[:, 0, :, None] * self.shape[1] + offsets[:, 1, None, :]
        return nodes.reshape(-1, _STENCIL), (shares[:, 0, :, None] * shares[:, 1, None, :]).reshape(-1, _STENCIL)


def _kernel_matrix(n_nodes: int, step: float) -> Floats:
    distance = step * np.arange(n_nodes)
    kernel: Floats = np.exp(-0.5 * np.subtract.outer(distance, distance) ** 2)
    return kernel


def _lagrange(position: Floats) -> Floats:
    """Cubic weights of the nodes 0, 1, 2, 3 at a position between them, on a new last axis."""
    a, b, c, d = position, position - 1, position - 2, position - 3
    return np.stack([-b * c * d / 6, a * c * d / 2, -a * b * d / 2, a * b * c / 6], axis=-1)
