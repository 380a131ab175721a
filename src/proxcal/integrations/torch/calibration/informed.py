"""The informed calibrators, the formulas those of `proxcal.informed`: (confidence, log proximity, evidence) to a
confidence. The density ratio has a file of its own."""

from math import factorial
from typing import NamedTuple

import numpy as np

from proxcal._validation import Floats
from proxcal.informed import BinMeanShift, NeighborhoodLogistic, ProximityLogistic
from proxcal.informed._ridge import LOGIT_BOUND
from proxcal.informed._surface import exponents
from proxcal.informed.bin_mean_shift import REACH
from proxcal.integrations.torch.calibration._frozen import Frozen, Tensor, torch
from proxcal.integrations.torch.calibration._interpolation import Scores
from proxcal.integrations.torch.calibration.search import Near
from proxcal.procal import ProCal
from proxcal.proximity.evidence import SIZES, log_shares

_ROUNDING = 1e-12  # by which a value may lie below an edge that it is


class Samples(NamedTuple):
    """What an informed calibrator sees of n samples."""

    confidence: Tensor
    log_proximity: Tensor
    evidence: Tensor | None


class Evidence(Frozen):
    """`proxcal.evidence`: label agreement, prediction agreement and mean residual of the neighbours; and how common the
    predicted class is among labels beside predictions."""

    def __init__(self, fitted: ProCal) -> None:
        super().__init__()
        labels, predictions = fitted.reference_labels_, fitted.reference_predictions_
        residual = (labels == predictions) - fitted.reference_confidence_
        share = log_shares(labels, predictions, fitted.n_classes_)
        self._hold(labels=labels, predictions=predictions, residual=residual, share=share)

    def forward(self, near: Near, predicted: Tensor) -> Tensor:
        labels, predictions = self.labels[near.indices], self.predictions[near.indices]
        residual = self.residual[near.indices]
        columns = []
        for size in SIZES:
            columns.append(_log_odds(labels[:, :size] == predicted[:, None]))
            columns.append(_log_odds(predictions[:, :size] == predicted[:, None]))
            columns.append(residual[:, :size].mean(1))
        return torch.stack([*columns, self.share[predicted]], dim=1)


def _log_odds(agree: Tensor) -> Tensor:
    count = agree.sum(1).double()
    return torch.log((count + 0.5) / (agree.shape[1] - count + 0.5))


class Logistic(Frozen):
    """`ProximityLogistic`, and with evidence `NeighborhoodLogistic`."""

    def __init__(self, fitted: ProximityLogistic | NeighborhoodLogistic) -> None:
        super().__init__()
        self._degree, self._sees_evidence = fitted.degree, fitted.takes_evidence
        self.of_confidence, self.of_proximity = Scores(fitted.confidence_scores_), Scores(fitted.proximity_scores_)
        self._hold(weights=fitted.weights_, center=fitted.center_, spread=fitted.spread_)

    def forward(self, samples: Samples) -> Tensor:
        u, v = self.of_confidence(samples.confidence), self.of_proximity(samples.log_proximity)
        columns = surface(u, v, self._degree)
        if self._sees_evidence and samples.evidence is not None:
            columns = torch.cat([columns, (samples.evidence - self.center) / self.spread], dim=1)
        return torch.sigmoid(log_odds(samples.confidence) + columns @ self.weights)


def log_odds(confidence: Tensor) -> Tensor:
    return confidence.clamp(min=LOGIT_BOUND).log() - (1 - confidence).clamp(min=LOGIT_BOUND).log()


def surface(u: Tensor, v: Tensor, degree: int) -> Tensor:
    """As `proxcal.informed._surface.surface`."""
    of_u, of_v = _hermite(u, degree), _hermite(v, degree)
    terms = [of_u[i] * of_v[j] / np.sqrt(factorial(i) * factorial(j)) for i, j in exponents(degree)]
    return torch.stack(terms, dim=1)


def _hermite(x: Tensor, degree: int) -> list[Tensor]:
    """He₀(x) to He_degree(x), by He_n = x He_{n−1} − (n − 1) He_{n−2}."""
    values = [torch.ones_like(x), x]
    for n in range(2, degree + 1):
        values.append(x * values[-1] - (n - 1) * values[-2])
    return values


class Shifted(Frozen):
    """`BinMeanShift`. Edges are values of calibration samples, and a base's few values meet them exactly: an edge is
    moved down by what rounding may take from such a value."""

    def __init__(self, fitted: BinMeanShift) -> None:
        super().__init__()
        self._bounded = fitted.shrinkage == "auto"
        self._hold(
            confidence_edges=_lowered(fitted.confidence_edges_),
            proximity_edges=_lowered(fitted.proximity_edges_),
            shift=fitted.shift_,
        )

    def forward(self, samples: Samples) -> Tensor:
        p = samples.confidence
        row = (p[:, None] >= self.confidence_edges).sum(1)
        column = (samples.log_proximity[:, None] >= self.proximity_edges[row]).sum(1)
        shift = self.shift[row, column]
        if self._bounded:
            shift = torch.minimum(torch.maximum(shift, -REACH * p), REACH * (1 - p))
        return (p + shift).clamp(0, 1)


def _lowered(edges: Floats) -> Floats:
    lowered: Floats = edges - _ROUNDING * np.where(np.isfinite(edges), np.abs(edges), 0)
    return lowered
