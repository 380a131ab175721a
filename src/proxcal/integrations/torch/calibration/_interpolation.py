"""Piecewise linear functions, constant outside their knots, as `numpy.interp` has them."""

import numpy as np

from proxcal._validation import Floats, Ints
from proxcal.informed import NormalScores
from proxcal.integrations.torch.calibration._frozen import Frozen, Tensor, torch


def on_line(values: Tensor, x: Tensor, y: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """y at `values`, which lie between the knots `left` and `right`, or outside of all: then these are the same."""
    start, width = x[left], x[right] - x[left]
    slope = torch.where(width > 0, (y[right] - y[left]) / torch.where(width > 0, width, 1), 0)
    return slope * (values - start) + y[left]


class Scores(Frozen):
    """`NormalScores` of a vector: few values, so each is compared with all knots."""

    def __init__(self, fitted: NormalScores) -> None:
        super().__init__()
        self._hold(knots=fitted.values_, scores=fitted.scores_)

    def forward(self, values: Tensor) -> Tensor:
        inside = values.clamp(self.knots[0], self.knots[-1])
        left = (inside[:, None] >= self.knots).sum(1) - 1
        return on_line(inside, self.knots, self.scores, left, (left + 1).clamp(max=self.knots.shape[0] - 1))


class Curves(Frozen):
    """Functions of the columns of a matrix, their knots end to end: one a column, or a single one for all. There are
    many values and many knots, so the place among them is found by halving."""

    def __init__(self, knots: Floats, ends: Ints) -> None:
        super().__init__()
        self._hold(x=knots[0], y=knots[1], first=np.append(0, ends[:-1]), last=ends - 1)
        self._n_halvings = int(knots.shape[1]).bit_length()

    def forward(self, values: Tensor) -> Tensor:
        left = self._left_knot(values)
        inside = torch.maximum(values, self.x[self.first])
        return on_line(inside, self.x, self.y, left, torch.minimum(left + 1, self.last))

    def _left_knot(self, values: Tensor) -> Tensor:
        """The last knot at or below each value; the first where there is none."""
        low, high = self.first.expand_as(values), self.last.expand_as(values)
        for _ in range(self._n_halvings):
            middle = (low + high + 1) // 2
            below = self.x[middle] <= values
            low, high = torch.where(below, middle, low), torch.where(below, high, middle - 1)
        return low
