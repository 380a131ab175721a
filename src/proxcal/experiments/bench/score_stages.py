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


def _on_logits(
    name: str, make: Callable[[], Any], apply: str = "predict_proba", library: str | None = None
) -> Contestant:
    return Contestant(
        name,
        lambda scores: _fitted(make(), scores.logits, scores.labels),
        lambda scores, fitted: getattr(fitted, apply)(scores.test_logits),
        library,
        library,
    )


def _on_probs(
    name: str, make: Callable[[], Any], apply: str = "predict_proba", library: str | None = None
) -> Contestant:
    return Contestant(
        name,
        lambda scores: _fitted(make(), scores.probs, scores.labels),
        lambda scores, fitted: getattr(fitted, apply)(scores.test_probs),
        library,
        library,
    )


def _fitted(calibrator: Any, scores: Array, labels: Ints) -> Any:
    calibrator.fit(scores, labels)
    return calibrator


def _imported(module: str, name: str, **arguments: Any) -> Callable[[], Any]:
    return lambda: getattr(import_module(module), name)(**arguments)


class _BfgsOverLogLoss:
    """Temperature scaling as it is often written: SciPy's BFGS over scikit-learn's log loss of a softmax."""

    def fit(self, logits: Array, labels: Ints) -> None:
        log_loss, minimize = import_module("sklearn.metrics").log_loss, import_module("scipy.optimize").minimize
        classes = np.arange(logits.shape[1])
        self.temperature = minimize(
            lambda t: log_loss(labels, softmax(logits / t[0]), labels=classes), [1.0], method="BFGS"
        ).x[0]

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


def _netcal(module: str, name: str, **arguments: Any) -> Contestant:
    return _on_probs("netcal", _imported(f"netcal.{module}", name, **arguments), "transform", "netcal")


def _probmetrics(name: str, **arguments: Any) -> Contestant:
    make = _imported("probmetrics.calibrators", name, **arguments)
    return _on_probs("probmetrics", make, library="probmetrics")


TEMPERATURE = Stage(
    "temperature",
    "temperature scaling: fit",
    _scores,
    (_on_logits("proxcal", TemperatureScaling),),
    (
        _on_logits("BFGS over log_loss", _BfgsOverLogLoss),
        _on_logits("scikit-learn", _imported("sklearn.calibration", "_TemperatureScaling"), "predict"),
        _netcal("scaling", "TemperatureScaling"),
        _probmetrics("TemperatureScalingCalibrator"),
    ),
)
ENSEMBLE_TEMPERATURE = Stage(
    "ensemble-temperature",
    "ensemble temperature scaling: fit",
    _scores,
    (_on_probs("proxcal", lambda: EnsembleTemperatureScaling(input="probs")),),
    (_probmetrics("ETSCalibrator", loss="ce"),),
)
HISTOGRAM = Stage(
    "histogram",
    "histogram binning of each class: fit",
    _scores,
    (_on_probs("proxcal", lambda: HistogramBinning(input="probs")),),
    (_netcal("binning", "HistogramBinning", bins=15),),
)
ISOTONIC = Stage(
    "isotonic",
    "isotonic regression of each class: fit",
    _scores,
    (_on_probs("proxcal", lambda: IsotonicRegression(input="probs")),),
    (_on_probs("scikit-learn", _EachClass), _netcal("binning", "IsotonicRegression")),
)
MULTI_ISOTONIC = Stage(
    "multi-isotonic",
    "isotonic regression over all classes at once: fit",
    _scores,
    (_on_probs("proxcal", lambda: MultiIsotonicRegression(input="probs")),),
    (_on_probs("scikit-learn, flattened", _AllClasses),),
)
