"""Base calibrators beside scikit-learn, as ratios of times taken in one process, one after the other.

The logits are simulated to look like those of a network over many classes: inner products of a 64-dimensional embedding
with unit class vectors, the embedding being the label's vector times a strength that differs by sample, plus noise.
About seven in ten of the predictions are right, and the logits are too large by a quarter.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.calibration import _TemperatureScaling
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import log_loss

from proxcal.base import MultiIsotonicRegression, TemperatureScaling
from proxcal.base._calibrator import as_probs


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
        return IsotonicRegression(out_of_bounds="clip").fit(probs.ravel(), one_hot.ravel())

    ours, fitted = timed(lambda: MultiIsotonicRegression().fit(logits, labels))
    theirs, reference = timed(flattened)
    at = np.concatenate([np.linspace(0, 1, 100_001), probs[:1000].ravel()])
    return {
        "seconds, ours": ours,
        "seconds, scikit-learn": theirs,
        "times faster than scikit-learn": theirs / ours,
        "largest difference of the fits": float(np.abs(np.interp(at, *fitted.knots_) - reference.predict(at)).max()),
    }


def _log_loss(logits: Any, labels: Any, t: float) -> float:
    return float(-log_softmax(logits.astype(np.float64) / t, axis=1)[np.arange(len(labels)), labels].mean())


if __name__ == "__main__":
    for benchmark in (temperature, multi_isotonic):
        print(benchmark.__name__)
        for name, value in benchmark().items():
            print(f"  {name}: {value:.9g}")
