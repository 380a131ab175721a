"""`DensityRatio` in torch: prior odds times a ratio of kernel densities, from its grid or from all samples.

Where every node of the grid is known and no sample can lie beyond it (normal scores are bounded), sixteen nodes a
sample suffice. Otherwise the sums over all calibration samples are computed as well, for where the grid says nothing.
"""

from typing import Any

import numpy as np

from proxcal.informed import DensityRatio
from proxcal.informed._kde import FARTHEST
from proxcal.integrations.torch.calibration._frozen import Frozen, Tensor, torch
from proxcal.integrations.torch.calibration._interpolation import Scores
from proxcal.integrations.torch.calibration.informed import Samples, log_odds


class Ratio(Frozen):
    def __init__(self, fitted: DensityRatio) -> None:
        super().__init__()
        self._usable = fitted.usable_
        if not self._usable:
            return
        self._on_log_scale = fitted.proximity_scale == "log"
        self._normal = fitted.coordinates == "normal"
        if self._normal:
            self.of_confidence, self.of_proximity = Scores(fitted.confidence_scores_), Scores(fitted.proximity_scores_)
        self._hold(longest_odds=fitted.longest_odds_, prior_line=fitted.prior_line_)
        self.grid = None if fitted.surface_ is None else Surface(fitted)
        covered = self._normal and fitted.surface_ is not None and not np.isnan(fitted.surface_).any()
        self.sums = None if covered else (Foretold if fitted._relative else Sides)(fitted)

    def forward(self, samples: Samples) -> Tensor:
        if not self._usable:
            return samples.confidence
        proximity = samples.log_proximity if self._on_log_scale else samples.log_proximity.exp()
        points = [samples.confidence, proximity]
        if self._normal:
            points = [self.of_confidence(points[0]), self.of_proximity(points[1])]
        odds = log_odds(samples.confidence)
        odds = torch.minimum(torch.maximum(odds, -self.longest_odds), self.longest_odds)
        prior = self.prior_line[0] + self.prior_line[1] * odds
        return torch.sigmoid(prior + self._log_ratio(torch.stack(points, dim=1)))

    def _log_ratio(self, points: Tensor) -> Tensor:
        of_grid = None if self.grid is None else self.grid(points)
        exactly = None if self.sums is None else self.sums(points)
        if of_grid is None or exactly is None:
            return exactly if of_grid is None else of_grid
        return torch.where(of_grid.isnan(), exactly, of_grid)


class Surface(Frozen):
    """The logarithm on the grid's nodes, interpolated by cubics on both axes; NaN beyond it."""

    def __init__(self, fitted: Any) -> None:
        super().__init__()
        most = np.array(fitted.surface_.shape) - 1.0
        self._hold(values=fitted.surface_, origin=fitted.grid_origin_, spacing=fitted.grid_spacing_)
        self._fix(most=most, steps=np.arange(4))

    def forward(self, points: Tensor) -> Tensor:
        position = (points - self.origin) / self.spacing
        covered = ((position >= 0) & (position <= self.most)).all(1)
        first = torch.minimum((position.floor() - 1).clamp(min=0), self.most - 3)
        shares = _lagrange(position - first)
        nodes = first.long()[:, :, None] + self.steps
        around = self.values[nodes[:, 0, :, None], nodes[:, 1, None, :]]
        found = (around * shares[:, 0, :, None] * shares[:, 1, None, :]).sum((1, 2))
        return torch.where(covered, found, torch.nan)


def _lagrange(position: Tensor) -> Tensor:
    """Cubic weights of the nodes 0, 1, 2, 3 at a position between them, on a new last axis."""
    a, b, c, d = position, position - 1, position - 2, position - 3
    return torch.stack([-b * c * d / 6, a * c * d / 2, -a * b * d / 2, a * b * c / 6], dim=-1)


class Sides(Frozen):
    """log of the density of the correct over that of the wrong, each from its own samples and bandwidth."""

    def __init__(self, fitted: Any) -> None:
        super().__init__()
        right, wrong = (fitted.points_[side] for side in (fitted.correct_, ~fitted.correct_))
        self._hold(right=right / fitted.bandwidths_[0], wrong=wrong / fitted.bandwidths_[1])
        self._hold(bandwidths=fitted.bandwidths_)

    def forward(self, points: Tensor) -> Tensor:
        right, wrong = (
            torch.logsumexp(_exponents(points / bandwidth, side), dim=1)
            for side, bandwidth in zip((self.right, self.wrong), self.bandwidths, strict=True)
        )
        return right - wrong - (self.bandwidths[0] / self.bandwidths[1]).log().sum()


class Foretold(Frozen):
    """log of how many times as many are correct as foretold, over how many times as many wrong."""

    def __init__(self, fitted: Any) -> None:
        super().__init__()
        self._hold(samples=fitted.points_ / fitted.bandwidths_[0], bandwidth=fitted.bandwidths_[0])
        correct, share = fitted.correct_, fitted.correct_.mean()
        self._hold(
            weights=np.column_stack([correct, fitted.foretold_, ~correct, 1 - fitted.foretold_]),
            pseudo_sample=np.array([share, share, 1 - share, 1 - share]),
        )

    def forward(self, points: Tensor) -> Tensor:
        kernels = _exponents(points / self.bandwidth, self.samples).exp()
        sums = (kernels @ self.weights + self.pseudo_sample).log()
        return sums[:, 0] - sums[:, 1] - sums[:, 2] + sums[:, 3]


def _exponents(points: Tensor, samples: Tensor) -> Tensor:
    """−½ |x − x_j|², (n, samples), both in bandwidths; a point farther off than any square could bear counts as less
    far."""
    low, high = samples.amin(0) - FARTHEST, samples.amax(0) + FARTHEST
    points = torch.minimum(torch.maximum(points, low), high)
    x, y = points[:, :1] - samples[:, 0], points[:, 1:] - samples[:, 1]
    return -0.5 * (x * x + y * y)
