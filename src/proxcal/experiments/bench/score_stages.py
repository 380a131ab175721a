"""Stages that learn from scores alone: each base calibrator's fit beside those of scikit-learn, netcal and probmetrics.

Who wants probabilities is given them, made before the clock starts. What is compared is the rows that each gives some
samples it was not fitted on.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from proxcal._validation import Array, Floats, Ints
from proxcal.base import (
    EnsembleTemperatureScaling,
    HistogramBinning,
    IsotonicRegression,
    MultiIsotonicRegression,
    TemperatureScaling,
)
from proxcal.base._calibrator import softmax
from proxcal.experiments.bench.stage import Contestant, Stage
from proxcal.experiments.bench.workload import Workload, simulated

_COMPARED = 200  # test samples


class _Scores(NamedTuple):
    logits: Array
    probs: Floats
    labels: Ints
    test_logits: Array
    test_probs: Floats


def _scores(workload: Workload) -> _Scores:
    calibration, test = simulated(workload, with_features=False)
    some = test.logits[:_COMPARED]
    return _Scores(calibration.logits, softmax(calibration.logits), calibration.labels, some, softmax(some))


def _on_logits(make: Callable[[], Any], apply: str = "predict_proba") -> dict[str, Any]:
    return {
        "run": lambda scores: make().fit(scores.logits, scores.labels),
        "answer": lambda scores, fitted: getattr(fitted, apply)(scores.test_logits),
    }


def _on_probs(make: Callable[[], Any], apply: str = "predict_proba") -> dict[str, Any]:
    return {
        "run": lambda scores: _fitted(make(), scores.probs, scores.labels),
        "answer": lambda scores, fitted: getattr(fitted, apply)(scores.test_probs),
    }


def _fitted(calibrator: Any, probs: Floats, labels: Ints) -> Any:
    calibrator.fit(probs, labels)
    return calibrator


def _imported(module: str, name: str, **arguments: Any) -> Callable[[], Any]:
    return lambda: getattr(import_module(module), name)(**arguments)


class _BfgsOverLogLoss:
    """Temperature scaling as it is often written: SciPy's BFGS over scikit-learn's log loss of a softmax."""

    def fit(self, logits: Array, labels: Ints) -> "_BfgsOverLogLoss":
        log_loss, minimize = import_module("sklearn.metrics").log_loss, import_module("scipy.optimize").minimize
        classes = np.arange(logits.shape[1])
        self.temperature = minimize(
            lambda t: log_loss(labels, softmax(logits / t[0]), labels=classes), [1.0], method="BFGS"
        ).x[0]
        return self

    def predict_proba(self, logits: Array) -> Floats:
        return softmax(logits / self.temperature)


class _EachClass:
    """scikit-learn's isotonic regression of each class against the rest, as its CalibratedClassifierCV fits it."""

    def fit(self, probs: Floats, labels: Ints) -> None:
        self.fitted = [_isotonic().fit(column, labels == k) for k, column in enumerate(probs.T)]

    def predict_proba(self, probs: Floats) -> Floats:
        rows = np.stack([own.predict(column) for own, column in zip(self.fitted, probs.T, strict=True)], axis=1)
        normalized: Floats = rows / rows.sum(axis=1, keepdims=True)
        return normalized


class _AllClasses:
    """scikit-learn's isotonic regression on the flattened matrix."""

    def fit(self, probs: Floats, labels: Ints) -> None:
        one_hot = np.zeros(probs.shape)
        one_hot[np.arange(len(probs)), labels] = 1
        self.fitted = _isotonic().fit(probs.ravel(), one_hot.ravel())

    def predict_proba(self, probs: Floats) -> Floats:
        rows = self.fitted.predict(probs.ravel()).reshape(probs.shape)
        normalized: Floats = rows / rows.sum(axis=1, keepdims=True)
        return normalized


def _isotonic() -> Any:
    return import_module("sklearn.isotonic").IsotonicRegression(out_of_bounds="clip")


def _ours(make: Callable[..., Any], *, input: str) -> tuple[Contestant, ...]:
    of = _on_logits if input == "logits" else _on_probs
    return (Contestant("proxcal", **of(lambda: make(input=input))),)


_SKLEARN: dict[str, Any] = {"module": "sklearn", "package": "scikit-learn"}
_NETCAL: dict[str, Any] = {"module": "netcal", "package": "netcal"}
_PROBMETRICS: dict[str, Any] = {"module": "probmetrics", "package": "probmetrics"}

TEMPERATURE = Stage(
    "temperature",
    "temperature scaling: fit",
    _scores,
    _ours(TemperatureScaling, input="logits"),
    (
        Contestant("BFGS over log_loss", **_on_logits(_BfgsOverLogLoss)),
        Contestant(
            "scikit-learn", **_on_logits(_imported("sklearn.calibration", "_TemperatureScaling"), "predict"), **_SKLEARN
        ),
        Contestant("netcal", **_on_probs(_imported("netcal.scaling", "TemperatureScaling"), "transform"), **_NETCAL),
        Contestant(
            "probmetrics",
            **_on_probs(_imported("probmetrics.calibrators", "TemperatureScalingCalibrator")),
            **_PROBMETRICS,
        ),
    ),
)
ENSEMBLE_TEMPERATURE = Stage(
    "ensemble-temperature",
    "ensemble temperature scaling: fit",
    _scores,
    _ours(EnsembleTemperatureScaling, input="probs"),
    (
        Contestant(
            "probmetrics", **_on_probs(_imported("probmetrics.calibrators", "ETSCalibrator", loss="ce")), **_PROBMETRICS
        ),
    ),
)
HISTOGRAM = Stage(
    "histogram",
    "histogram binning of each class: fit",
    _scores,
    _ours(HistogramBinning, input="probs"),
    (
        Contestant(
            "netcal", **_on_probs(_imported("netcal.binning", "HistogramBinning", bins=15), "transform"), **_NETCAL
        ),
    ),
)
ISOTONIC = Stage(
    "isotonic",
    "isotonic regression of each class: fit",
    _scores,
    _ours(IsotonicRegression, input="probs"),
    (
        Contestant("scikit-learn", **_on_probs(_EachClass)),
        Contestant("netcal", **_on_probs(_imported("netcal.binning", "IsotonicRegression"), "transform"), **_NETCAL),
    ),
)
MULTI_ISOTONIC = Stage(
    "multi-isotonic",
    "isotonic regression over all classes at once: fit",
    _scores,
    _ours(MultiIsotonicRegression, input="probs"),
    (Contestant("scikit-learn, flattened", **_on_probs(_AllClasses)),),
)
