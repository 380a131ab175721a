"""Base calibrators beside scikit-learn, netcal and probmetrics, as ratios of times taken in one process, in turns.

The logits are simulated to look like those of a network over many classes: inner products of a 64-dimensional embedding
with unit class vectors, the embedding being the label's vector times a strength that differs by sample, plus noise.
About seven in ten of the predictions are right, and the logits are too large by a quarter.
"""

import importlib.util
import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.calibration import _TemperatureScaling
from sklearn.isotonic import IsotonicRegression as SklearnIsotonic
from sklearn.metrics import log_loss

from proxcal._validation import check_scores
from proxcal.base import (
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
from proxcal.base._calibrator import as_probs, joined
from proxcal.proximity import Proximity

OURS = [
    Identity(),
    TemperatureScaling(),
    EnsembleTemperatureScaling(),
    ParameterizedTemperatureScaling(),
    NeighborTemperatureScaling(),
    NeighborVotes(),
    VectorScaling(),
    HistogramBinning(),
    IsotonicRegression(),
    MultiIsotonicRegression(),
]
PEERS = {  # of which of ours: module, class, arguments, what applies it
    "TemperatureScaling": [
        ("probmetrics.calibrators", "TemperatureScalingCalibrator", {}, "predict_proba"),
        ("netcal.scaling", "TemperatureScaling", {}, "transform"),
        ("sklearn.calibration", "_TemperatureScaling", {}, "predict"),
    ],
    "EnsembleTemperatureScaling": [("probmetrics.calibrators", "ETSCalibrator", {"loss": "ce"}, "predict_proba")],
    "VectorScaling": [("probmetrics.calibrators", "SVSCalibrator", {"print_init_info": False}, "predict_proba")],
    "HistogramBinning": [("netcal.binning", "HistogramBinning", {"bins": 15}, "transform")],
    "IsotonicRegression": [
        ("netcal.binning", "IsotonicRegression", {}, "transform"),
        ("_base", "EachClass", {}, "predict_proba"),
    ],
    "MultiIsotonicRegression": [("_base", "AllClasses", {}, "predict_proba")],
}


class EachClass:
    """scikit-learn's isotonic regression of each class against the rest, as its CalibratedClassifierCV fits it."""

    def fit(self, probs: Any, labels: Any) -> None:
        self.fitted = [
            SklearnIsotonic(out_of_bounds="clip").fit(column, labels == k) for k, column in enumerate(probs.T)
        ]

    def predict_proba(self, probs: Any) -> Any:
        rows = np.stack([own.predict(column) for own, column in zip(self.fitted, probs.T, strict=True)], axis=1)
        return rows / rows.sum(axis=1, keepdims=True)


class AllClasses:
    """scikit-learn's isotonic regression on the flattened matrix."""

    def fit(self, probs: Any, labels: Any) -> None:
        one_hot = np.zeros(probs.shape)
        one_hot[np.arange(len(probs)), labels] = 1
        self.fitted = SklearnIsotonic(out_of_bounds="clip").fit(probs.ravel(), one_hot.ravel())

    def predict_proba(self, probs: Any) -> Any:
        rows = self.fitted.predict(probs.ravel()).reshape(probs.shape)
        return rows / rows.sum(axis=1, keepdims=True)


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

    flattened = AllClasses()
    ours, fitted = timed(lambda: MultiIsotonicRegression().fit(logits, labels))
    theirs, _ = timed(lambda: flattened.fit(probs, labels))
    at = np.concatenate([np.linspace(0, 1, 100_001), probs[:1000].ravel()])
    return {
        "seconds, ours": ours,
        "seconds, scikit-learn": theirs,
        "times faster than scikit-learn": theirs / ours,
        "megabytes allocated by ours": allocated(MultiIsotonicRegression().fit, logits, labels) / 1e6,
        "largest difference of the fits": float(
            np.abs(np.interp(at, *fitted.knots_) - flattened.fitted.predict(at)).max()
        ),
    }


def every_base(n: int = 25_000, n_classes: int = 1000, n_turns: int = 2) -> dict[str, float]:
    """Seconds of fit and apply of every base, the least of its turns, and ours / each peer's that is installed.

    All start from the logits: where a peer needs probabilities, the softmax is in its time. Bases that see neighbours
    are handed those that ProCal's search found, which `proximity` times. Memory is what input (and, applying, output)
    and all that is allocated come to at the largest, as a share of input (and output).
    """
    logits, labels = simulated_network(n, n_classes)
    features = np.random.default_rng(0).normal(size=(n, 16)).astype(np.float32)
    neighbors = Proximity().fit(features).neighbors(k=50)
    result: dict[str, float] = {}
    for ours in OURS:
        name = type(ours).__name__
        contestants = {"ours": _Ours(ours, neighbors)} | dict(_installed(PEERS.get(name, [])))
        seconds = _least_of_turns(contestants, logits, labels, n_turns)
        for step in ("fit", "apply"):
            own = seconds["ours"][step]
            result[f"{name}, {step}: seconds"] = own
            for peer in list(contestants)[1:]:
                result[f"{name}, {step}: times {peer}'s"] = own / seconds[peer][step]
        result[f"{name}, fit: peak"] = 1 + allocated(contestants["ours"].fit, logits, labels) / logits.nbytes
        given = logits.nbytes + 8 * logits.size
        result[f"{name}, apply: peak"] = (logits.nbytes + allocated(contestants["ours"].apply, logits)) / given
    return result


class _Ours:
    def __init__(self, calibrator: Any, neighbors: Any) -> None:
        self.calibrator, self.neighbors = calibrator, neighbors

    def fit(self, logits: Any, labels: Any) -> None:
        self.calibrator.fit_with(check_scores(logits, "logits"), labels, self.neighbors)

    def apply(self, logits: Any) -> Any:
        return joined(self.calibrator.blocks(check_scores(logits, "logits"), self.neighbors), logits.shape)


class _Peer:
    def __init__(self, calibrator: Any, apply: str) -> None:
        self.calibrator, self.method = calibrator, getattr(calibrator, apply)
        self.wants_logits = type(calibrator) is _TemperatureScaling

    def fit(self, logits: Any, labels: Any) -> None:
        self.calibrator.fit(self._given(logits), labels)

    def apply(self, logits: Any) -> Any:
        return self.method(self._given(logits))

    def _given(self, logits: Any) -> Any:
        return logits if self.wants_logits else softmax(logits.astype(np.float64), axis=1)


def _installed(peers: list[tuple[str, str, dict[str, Any], str]]) -> Iterator[tuple[str, _Peer]]:
    for module, name, arguments, apply in peers:
        library = module.partition(".")[0]
        if importlib.util.find_spec(library):
            shown = "scikit-learn" if library in ("_base", "sklearn") else library
            yield shown, _Peer(getattr(importlib.import_module(module), name)(**arguments), apply)


def _least_of_turns(contestants: Any, logits: Any, labels: Any, n_turns: int) -> dict[str, dict[str, float]]:
    seconds = {name: {"fit": np.inf, "apply": np.inf} for name in contestants}
    for _ in range(n_turns):
        for name, contestant in contestants.items():
            fit, _ = timed(lambda contestant=contestant: contestant.fit(logits, labels))
            apply, _ = timed(lambda contestant=contestant: contestant.apply(logits))
            seconds[name] = {"fit": min(fit, seconds[name]["fit"]), "apply": min(apply, seconds[name]["apply"])}
    return seconds


def allocated(work: Callable[..., Any], *arguments: Any) -> int:
    tracemalloc.start()
    kept = work(*arguments)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    del kept
    return peak


def _log_loss(logits: Any, labels: Any, t: float) -> float:
    return float(-log_softmax(logits.astype(np.float64) / t, axis=1)[np.arange(len(labels)), labels].mean())


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for benchmark in (temperature, multi_isotonic, every_base):
        print(benchmark.__name__)
        for name, value in benchmark().items():
            print(f"  {name}: {value:.9g}")
