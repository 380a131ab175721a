"""The base calibrators that act on each probability by itself: histogram binning and the two isotonic regressions. As
in `proxcal.base`, rows are made to sum to 1, and a row of zeros stays as the model gave it."""

from typing import Any

import numpy as np

from proxcal.base import HistogramBinning, IsotonicRegression, MultiIsotonicRegression
from proxcal.base._one_vs_rest import NOTHING
from proxcal.base._pooling import LEAST
from proxcal.integrations.torch.calibration._frozen import Tensor, torch
from proxcal.integrations.torch.calibration._interpolation import Curves
from proxcal.integrations.torch.calibration.base import Base
from proxcal.integrations.torch.calibration.search import Near


class ClassWise(Base):
    def __init__(self, fitted: Any) -> None:
        super().__init__(fitted)
        self._fix(nothing=NOTHING)

    def _to_one(self, values: Tensor, probs: Tensor) -> Tensor:
        sums = values.sum(1, keepdim=True)
        empty = sums < self.nothing
        return torch.where(empty, probs, values / torch.where(empty, 1, sums))


class Binned(ClassWise):
    """`HistogramBinning`."""

    def __init__(self, fitted: HistogramBinning) -> None:
        super().__init__(fitted)
        n_classes, self._n_bins = fitted.values_.shape
        self._hold(values=fitted.values_.ravel(), first=np.arange(n_classes) * self._n_bins)
        self._by_count = fitted.edges_ is not None
        if fitted.edges_ is not None:
            self._hold(edges=fitted.edges_)

    def forward(self, scores: Tensor, near: Near | None) -> Tensor:
        probs = self.probs(scores)
        values = self.values[self._bins(probs) + self.first]
        return self._to_one(torch.where(values.isnan(), probs, values), probs)

    def _bins(self, probs: Tensor) -> Tensor:
        if not self._by_count:
            return (probs * self._n_bins).long().clamp(max=self._n_bins - 1)
        bins = torch.zeros_like(probs, dtype=torch.int64)
        for edge in self.edges:
            bins = bins + (probs >= edge).long()
        return bins


class Stepped(ClassWise):
    """`IsotonicRegression`, a function a class, and `MultiIsotonicRegression`, one for all."""

    def __init__(self, fitted: IsotonicRegression | MultiIsotonicRegression) -> None:
        super().__init__(fitted)
        ends = fitted.ends_ if isinstance(fitted, IsotonicRegression) else np.array([fitted.knots_.shape[1]])
        self.curves = Curves(np.stack([np.maximum(fitted.knots_[0], LEAST), fitted.knots_[1]]), ends)
        self._hold(own_share=fitted.own_share_)
        self._fix(least=LEAST)

    def forward(self, scores: Tensor, near: Near | None) -> Tensor:
        probs = self.probs(scores)
        values = self.curves(torch.maximum(probs, self.least))
        return self._to_one((1 - self.own_share) * values + self.own_share * probs, probs)
