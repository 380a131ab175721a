"""The base calibrators that act on whole rows: scores as they are, tempered, mixed, scaled a class. Each is the formula
of its namesake in `proxcal.base`, in float64."""

import math
from typing import Any

from proxcal.base import (
    EnsembleTemperatureScaling,
    Identity,
    NeighborTemperatureScaling,
    ParameterizedTemperatureScaling,
    TemperatureScaling,
    VectorScaling,
    _network,
)
from proxcal.base._loss_curves import RANGE
from proxcal.base._row_temperature import FAR, N_LARGEST
from proxcal.base.vector import LOWEST
from proxcal.integrations.torch.calibration._frozen import Frozen, Tensor, torch
from proxcal.integrations.torch.calibration.search import Near


class Base(Frozen):
    """Scores, and the neighbours where it asks for them, to rows (n, C). `input` is what the fitted one takes."""

    def __init__(self, fitted: Any) -> None:
        super().__init__()
        self._input = fitted.input

    def probs(self, scores: Tensor) -> Tensor:
        if self._input == "logits":
            return softmax(scores.double())
        rows = scores.double()
        return rows / rows.sum(1, keepdim=True)

    def logits(self, scores: Tensor) -> Tensor:
        if self._input == "logits":
            return scores.double()
        kind = torch.finfo(scores.dtype)
        return scores.double().clamp(min=kind.smallest_normal * kind.eps).log()


def softmax(z: Tensor, inverse_temperature: Tensor | float = 1.0) -> Tensor:
    return torch.softmax((z - z.amax(1, keepdim=True)) * inverse_temperature, dim=1)


class Plain(Base):
    """`Identity`."""

    def __init__(self, fitted: Identity) -> None:
        super().__init__(fitted)

    def forward(self, scores: Tensor, near: Near | None) -> Tensor:
        return self.probs(scores)


class Tempered(Base):
    """`TemperatureScaling`."""

    def __init__(self, fitted: TemperatureScaling) -> None:
        super().__init__(fitted)
        self._hold(temperature=fitted.temperature_)

    def forward(self, scores: Tensor, near: Near | None) -> Tensor:
        return softmax(self.logits(scores), 1 / self.temperature)


class Mixed(Base):
    """`EnsembleTemperatureScaling`."""

    def __init__(self, fitted: EnsembleTemperatureScaling) -> None:
        super().__init__(fitted)
        self._hold(temperature=fitted.temperature_, weights=fitted.weights_)

    def forward(self, scores: Tensor, near: Near | None) -> Tensor:
        z = self.logits(scores)
        tempered, plain, uniform = self.weights
        return tempered * softmax(z, 1 / self.temperature) + plain * softmax(z) + uniform / z.shape[1]


class Scaled(Base):
    """`VectorScaling`."""

    def __init__(self, fitted: VectorScaling) -> None:
        super().__init__(fitted)
        self._hold(temperature=fitted.temperature_, factor=fitted.scale_, bias=fitted.bias_)

    def forward(self, scores: Tensor, near: Near | None) -> Tensor:
        rows = softmax(self.logits(scores), 1 / self.temperature)
        return softmax(rows.clamp(min=math.exp(LOWEST)).log() * self.factor + self.bias)


class RowTempered(Base):
    """`ParameterizedTemperatureScaling`, and with distances `NeighborTemperatureScaling`."""

    def __init__(self, fitted: ParameterizedTemperatureScaling | NeighborTemperatureScaling) -> None:
        super().__init__(fitted)
        self._hold(temperature=fitted.temperature_, center=fitted.center_, spread=fitted.spread_)
        layers = _network.layers(fitted.network_, len(fitted.center_))
        for i, (weights, bias) in enumerate(layers):
            self._hold(**{f"weights_{i}": weights, f"bias_{i}": bias})
        self._n_layers = i + 1
        self._n_seen = fitted.n_seen_ if isinstance(fitted, NeighborTemperatureScaling) else 0
        if isinstance(fitted, NeighborTemperatureScaling):
            self._hold(nearest=fitted.nearest_)

    def forward(self, scores: Tensor, near: Near | None) -> Tensor:
        z = self.logits(scores)
        largest = z.topk(min(N_LARGEST, z.shape[1]), dim=1).values / self.temperature
        inputs = [largest[:, :1], (largest[:, :1] - largest[:, 1:]).clamp(max=FAR)]
        if near is not None and self._n_seen:
            inputs.append(torch.maximum(near.distances[:, : self._n_seen], self.nearest).log())
        s = self._log_ratio((torch.cat(inputs, dim=1) - self.center) / self.spread)
        return softmax(z, torch.exp(-s) / self.temperature)

    def _log_ratio(self, units: Tensor) -> Tensor:
        """log(T / T₀), (n, 1)."""
        for i in range(self._n_layers):
            total = units @ self.get_buffer(f"weights_{i}") + self.get_buffer(f"bias_{i}")
            units = torch.tanh(total)
        return RANGE * torch.tanh(total / RANGE)
