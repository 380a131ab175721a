"""A fitted `ProCal` as a module: its steps one after another, each in torch with what was learned as buffers.

Everything but the search's product is computed in float64, as NumPy does it; what comes out is float32.
"""

import os
from collections.abc import Callable
from typing import Any, NamedTuple

from sklearn.utils.validation import check_is_fitted

from proxcal._reference_set import n_searched
from proxcal.base import (
    BASES,
    EnsembleTemperatureScaling,
    HistogramBinning,
    Identity,
    IsotonicRegression,
    MultiIsotonicRegression,
    NeighborTemperatureScaling,
    NeighborVotes,
    ParameterizedTemperatureScaling,
    TemperatureScaling,
    VectorScaling,
)
from proxcal.informed import (
    INFORMED,
    BinMeanShift,
    Chain,
    DensityRatio,
    NeighborhoodLogistic,
    ProximityLogistic,
    takes_evidence,
)
from proxcal.integrations.torch.calibration._frozen import Frozen, Tensor, torch
from proxcal.integrations.torch.calibration.base import Mixed, Plain, RowTempered, Scaled, Tempered
from proxcal.integrations.torch.calibration.class_wise import Binned, Stepped
from proxcal.integrations.torch.calibration.density_ratio import Ratio
from proxcal.integrations.torch.calibration.informed import Evidence, Logistic, Samples, Shifted
from proxcal.integrations.torch.calibration.rows import Rows
from proxcal.integrations.torch.calibration.search import Near, NeighborSearch
from proxcal.integrations.torch.calibration.votes import Voted
from proxcal.integrations.torch.onnx_file import write_onnx
from proxcal.procal import ProCal


class CalibratedBatch(NamedTuple):
    """What is said of n samples: rows (n, C), the class predicted, the probability that it is right, proximity and its
    logarithm (None where the ProCal asks for no neighbours)."""

    probs: Tensor
    predicted: Tensor
    confidence: Tensor
    proximity: Tensor | None
    log_proximity: Tensor | None


class Calibration(Frozen):
    """`ProCal.calibrate` of a batch: scores (n, C) of the kind that it was fitted on, and features (n, d)."""

    def __init__(self, procal: ProCal) -> None:
        super().__init__()
        _check_has_rows(procal)
        self.n_classes, self._n_neighbors = procal.n_classes_, procal.n_neighbors
        self.base = _of(procal.base_, _BASES, "base", BASES)
        self.search = _search(procal)
        self.informed = None if procal.informed_ is None else _informed(procal.informed_)
        self.evidence = Evidence(procal) if takes_evidence(procal.informed_) else None
        self.reranks = procal.rows != "keep"
        self.rows = Rows(procal.exponent_, procal.rows, procal.n_classes_)

    @property
    def n_columns(self) -> int | None:
        """Of the features; None where none are asked for."""
        return None if self.search is None else self.search.n_columns

    def forward(self, scores: Tensor, features: Tensor | None = None) -> CalibratedBatch:
        near = self._near(scores, features)
        rows = self.base(scores, near)
        confidence, predicted = rows.max(1)
        if near is None:
            return CalibratedBatch(rows.float(), predicted, confidence.float(), None, None)
        log_proximity = -near.distances[:, : self._n_neighbors].mean(1)
        if self.informed is not None:
            seen = None if self.evidence is None else self.evidence(near, predicted)
            informed = self.informed(Samples(confidence, log_proximity, seen)).clamp(0, 1)
            rows = self.rows(rows, predicted, informed)
            confidence = informed
            if self.reranks:
                top, after = rows.max(1)
                confidence = torch.where(after == predicted, informed, top)
                predicted = after
        return CalibratedBatch(
            rows.float(), predicted, confidence.float(), log_proximity.exp().float(), log_proximity.float()
        )

    def to_onnx(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write it as one ONNX file that takes scores, and features where they are asked for, in batches of any size.
        Needs the `onnx` extra."""
        device = self.rows.exponent.device
        example = {"scores": torch.full((2, self.n_classes), 1 / self.n_classes, device=device)}
        if self.n_columns is not None:
            example["features"] = torch.ones((2, self.n_columns), device=device)
        write_onnx(path, self, example, overwrite=overwrite)

    def _near(self, scores: Tensor, features: Tensor | None) -> Near | None:
        if scores.shape[1] != self.n_classes:
            raise ValueError(f"scores have {scores.shape[1]} columns; procal was fitted with {self.n_classes} classes")
        if self.search is None:
            return None
        if features is None:
            raise ValueError("features is missing: proximity needs the embedding of each sample, (n, d)")
        if features.shape[1] != self.n_columns:
            raise ValueError(
                f"features have {features.shape[1]} columns; the reference set has {self.n_columns}"
                " (was another layer extracted?)"
            )
        near: Near = self.search(features)
        return near


class InTurn(Frozen):
    """`Chain`: each step corrects the confidence that the former gave."""

    def __init__(self, fitted: Chain) -> None:
        super().__init__()
        self.steps = torch.nn.ModuleList([_informed(step) for step in fitted.steps_])

    def forward(self, samples: Samples) -> Tensor:
        for step in self.steps:
            samples = samples._replace(confidence=step(samples).clamp(0, 1))
        return samples.confidence


_BASES: dict[type[Any], Callable[[Any], Frozen]] = {
    Identity: Plain,
    TemperatureScaling: Tempered,
    EnsembleTemperatureScaling: Mixed,
    VectorScaling: Scaled,
    ParameterizedTemperatureScaling: RowTempered,
    NeighborTemperatureScaling: RowTempered,
    HistogramBinning: Binned,
    IsotonicRegression: Stepped,
    MultiIsotonicRegression: Stepped,
    NeighborVotes: Voted,
}
_INFORMED: dict[type[Any], Callable[[Any], Frozen]] = {
    ProximityLogistic: Logistic,
    NeighborhoodLogistic: Logistic,
    DensityRatio: Ratio,
    BinMeanShift: Shifted,
    Chain: InTurn,
}


def _informed(fitted: Any) -> Frozen:
    return _of(fitted, _INFORMED, "informed", INFORMED)


def _of(fitted: Any, modules: dict[type[Any], Callable[[Any], Frozen]], what: str, names: Any) -> Frozen:
    if type(fitted) not in modules:
        known = ", ".join(map(repr, names))
        raise ValueError(
            f"procal has a {type(fitted).__name__} as its {what}, which cannot be computed in torch; fit with one of"
            f" {known}"
        )
    return modules[type(fitted)](fitted)


def _check_has_rows(procal: ProCal) -> None:
    check_is_fitted(procal)
    if procal.asked_for_ is not None:
        raise ValueError("procal was fitted on bare confidences (fit_confidence); a module needs rows of classes: fit")


def _search(procal: ProCal) -> NeighborSearch | None:
    if not hasattr(procal, "proximity_"):
        return None
    search = procal.proximity_
    k = n_searched(procal.base_, procal.informed_, procal.n_neighbors) or procal.n_neighbors
    return NeighborSearch(search, min(k, len(search.references_) - 1))
