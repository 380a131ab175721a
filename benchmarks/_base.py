"""Base calibrators beside scikit-learn, as ratios of times taken in one process, one after the other.

The logits are simulated to look like those of a network over many classes: inner products of a 64-dimensional embedding
with unit class vectors, the embedding being the label's vector times a strength that differs by sample, plus noise.
About seven in ten of the predictions are right, and the logits are too large by a quarter.
"""

import importlib.util
import time
import tracemalloc
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.calibration import _TemperatureScaling
from sklearn.isotonic import IsotonicRegression as SklearnIsotonic
from sklearn.metrics import log_loss

from proxcal.base import (
    EnsembleTemperatureScaling,
    HistogramBinning,
    Identity,
    IsotonicRegression,
    MultiIsotonicRegression,
    ParameterizedTemperatureScaling,
    TemperatureScaling,
    VectorScaling,
)
from proxcal.base._calibrator import as_probs

OURS = [
    Identity(),
    TemperatureScaling(),
    EnsembleTemperatureScaling(),
    ParameterizedTemperatureScaling(),
    VectorScaling(),
    HistogramBinning(),
    IsotonicRegression(),
    MultiIsotonicRegression(),
]
PEERS = [  # module, class, arguments, what applies it
    ("probmetrics.calibrators", "TemperatureScalingCalibrator", {}, "predict_proba"),
    ("probmetrics.calibrators", "ETSCalibrator", {"loss": "ce"}, "predict_proba"),
    ("netcal.binning", "HistogramBinning", {"bins": 15}, "transform"),
    ("netcal.binning", "IsotonicRegression", {}, "transform"),
]


def simulated_network(n: int, n_classes: int, seed: int = 0) -> tuple[Any, Any]:
    """float32 logits and labels."""
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(n_classes, 64)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    labels = rng.integers(n_classes, size=n)
    strength = rng.lognormal(1.5, 0.4, size=(n, 1)).astype(np.float32)
    embedding = strength * vectors[labels] + rng.normal(size=(n, 64)).astype(np.float32)
    return 4 * embedding @ vectors.T, labels


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


def temperature(n: int = 25_000, n_classes: int = 1000) -> dict[str, float]:
    """Ours against scikit-learn's own temperature calibrator and a BFGS over its log loss; losses in float64."""
    logits, labels = simulated_network(n, n_classes)
    classes = np.arange(n_classes)

    def bfgs() -> float:
        def loss(t: Any) -> float:
            return float(log_loss(labels, softmax(logits / t[0], axis=1), labels=classes))

        return float(minimize(loss, [1.0], method="BFGS").x[0])

    fits = {
        "ours": lambda: TemperatureScaling().fit(logits, labels).temperature_,
        "scikit-learn": lambda: 1 / float(_TemperatureScaling().fit(logits, labels).beta_),
        "bfgs": bfgs,
    }
    seconds, temperatures = {}, {}
    for name, fit in fits.items():
        seconds[name], temperatures[name] = timed(fit)
    result = {f"seconds, {name}": value for name, value in seconds.items()}
    result |= {f"times faster than {name}": seconds[name] / seconds["ours"] for name in ("scikit-learn", "bfgs")}
    result |= {f"temperature, {name}": t for name, t in temperatures.items()}
    result |= {f"log loss, {name}": _log_loss(logits, labels, t) for name, t in temperatures.items()}
    return result


def multi_isotonic(n: int = 25_000, n_classes: int = 1000) -> dict[str, float]:
    """Ours against scikit-learn's isotonic regression on the flattened matrix, to which it needs to be equal."""
    logits, labels = simulated_network(n, n_classes)
    probs = as_probs(logits, "logits")

    def flattened() -> Any:
        one_hot = np.zeros(probs.shape)
        one_hot[np.arange(n), labels] = 1
        return SklearnIsotonic(out_of_bounds="clip").fit(probs.ravel(), one_hot.ravel())

    ours, fitted = timed(lambda: MultiIsotonicRegression().fit(logits, labels))
    theirs, reference = timed(flattened)
    at = np.concatenate([np.linspace(0, 1, 100_001), probs[:1000].ravel()])
    return {
        "seconds, ours": ours,
        "seconds, scikit-learn": theirs,
        "times faster than scikit-learn": theirs / ours,
        "largest difference of the fits": float(np.abs(np.interp(at, *fitted.knots_) - reference.predict(at)).max()),
    }


def every_base(n: int = 25_000, n_classes: int = 1000) -> dict[str, dict[str, float]]:
    """Seconds of fit and of predict_proba, and what fit allocates at its peak in terms of the logits, for every base.

    Beside them, where they are installed, netcal's and probmetrics', the softmax that they need of the logits included.
    """
    logits, labels = simulated_network(n, n_classes)
    result = {}
    for ours in OURS:
        name = type(ours).__name__
        result[name] = _fit_and_apply(ours.fit, ours.predict_proba, logits, labels)
        result[name]["fit's peak / logits"] = _peak(ours, logits, labels) / logits.nbytes
    for module, name, arguments, apply in PEERS:
        library = module.partition(".")[0]
        if importlib.util.find_spec(library):
            peer = getattr(importlib.import_module(module), name)(**arguments)
            fit, predict = (_of_probs(getattr(peer, method)) for method in ("fit", apply))
            result[f"{library} {name}"] = _fit_and_apply(fit, predict, logits, labels)
    return result


def _peak(calibrator: Any, logits: Any, labels: Any) -> int:
    tracemalloc.start()
    calibrator.fit(logits, labels)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def _fit_and_apply(fit: Callable[..., Any], apply: Callable[..., Any], logits: Any, labels: Any) -> dict[str, float]:
    return {"fit": timed(lambda: fit(logits, labels))[0], "apply": timed(lambda: apply(logits))[0]}


def _of_probs(method: Callable[..., Any]) -> Callable[..., Any]:
    return lambda logits, *labels: method(softmax(logits.astype(np.float64), axis=1), *labels)


def _log_loss(logits: Any, labels: Any, t: float) -> float:
    return float(-log_softmax(logits.astype(np.float64) / t, axis=1)[np.arange(len(labels)), labels].mean())


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for benchmark in (temperature, multi_isotonic):
        print(benchmark.__name__)
        for name, value in benchmark().items():
            print(f"  {name}: {value:.9g}")
    print("every_base")
    for name, row in every_base().items():
        print(f"  {name}:", ", ".join(f"{key} {value:.3f}" for key, value in row.items()))
