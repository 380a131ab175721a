"""Speed and memory on the paper's ImageNet workload: 25 000 calibration and 25 000 test samples, 1000 classes, 2048
features.

    python benchmarks/speed.py            # needs the `bench` extra: statsmodels, faiss-cpu, pandas
    python benchmarks/speed.py bases      # beside those of netcal and probmetrics that are installed (`oracles`)

Times are ratios within one run, ours and the peer's one after the other; matrix products are compared with the
machine's own sgemm rate, measured beside each search; OPENBLAS_CORETYPE must not be set, as it changes both that rate
and faiss's severalfold. Memory is the largest resident size of a fresh process over
what it held before the call, plus the inputs, as a share of inputs and outputs.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any
from unittest import mock

import _base
import _density_ratio
import _votes
import numpy as np

import proxcal as px

N, N_CLASSES, WIDTH = 25_000, 1000, 2048
_PAUSE = 0.5  # seconds, after which threads that wait for more work have gone to sleep


def simulated_features(n: int, labels: Any, seed: int) -> Any:
    """float32 rows as a network's after its last activation: non-negative, clustered by class, norm about 30."""
    rng = np.random.default_rng(0)
    directions = rng.normal(size=(64, WIDTH)).astype(np.float32) / 8
    centres = rng.normal(size=(N_CLASSES, 64)).astype(np.float32)
    rng = np.random.default_rng(seed)
    embedding = centres[labels] + 0.7 * rng.normal(size=(n, 64)).astype(np.float32)
    return np.maximum(embedding @ directions + 0.3 * rng.normal(size=(n, WIDTH)).astype(np.float32), 0)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def sgemm(a: Any, b: Any) -> tuple[float, float]:
    """Wall and processor seconds of one product of 1024 rows with all of b, into memory that was used before."""
    product, into = Stopwatch(), np.empty((1024, len(b)), dtype=np.float32)
    np.matmul(a[:1024], b.T, out=into)
    with product:
        np.matmul(a[:1024], b.T, out=into)
    return product.wall, product.processor


def proximity() -> dict[str, float]:
    """Both searches, the references among themselves and the queries, against faiss's flat index and against sgemm.

    Ours and faiss's take turns, a fifth of the queries at a time, and products are timed between them: so all see the
    same machine, however busy it is. Both begin when the threads of the one before no longer wait for more work, which
    they do awake. Processor seconds are those of all threads.
    """
    import faiss

    labels = np.random.default_rng(1).integers(N_CLASSES, size=2 * N)
    references, queries = simulated_features(N, labels[:N], 1), simulated_features(N, labels[N:], 2)
    fitting = Stopwatch()
    with fitting:
        fitted = px.Proximity().fit(references)
    index = faiss.IndexFlatL2(WIDTH)
    index.add(references / np.linalg.norm(references, axis=1, keepdims=True))
    ours, among, theirs, products = Stopwatch(), Stopwatch(), Stopwatch(), []
    difference, hits = 0.0, 0
    for some in np.array_split(queries, 5):
        products.append(sgemm(queries, references))
        time.sleep(_PAUSE)
        with ours:
            found = fitted.neighbors(some)
        products.append(sgemm(queries, references))
        time.sleep(_PAUSE)
        with theirs:
            unit = some / np.linalg.norm(some, axis=1, keepdims=True)
            squares, nearest = index.search(unit, 10)
        scores = [np.exp(-d.mean(axis=1)) for d in (found.distances, np.sqrt(np.maximum(squares, 0)))]
        difference = max(difference, float(np.abs(scores[0] - scores[1]).max()))
        hits += sum(len(np.intersect1d(*pair)) for pair in zip(found.indices, nearest, strict=True))
    time.sleep(_PAUSE)
    with among:
        fitted.neighbors()
    products.append(sgemm(queries, references))
    share = N / 1024 * np.median(products, axis=0)
    return {
        "seconds, ours, fit": fitting.wall,
        "seconds, ours, queries": ours.wall,
        "seconds, ours, references among themselves": among.wall,
        "seconds, faiss IndexFlatL2, queries": theirs.wall,
        "times faster than faiss": theirs.wall / ours.wall,
        "times less processor time than faiss": theirs.processor / ours.processor,
        "share of sgemm's rate, queries": share[0] / ours.wall,
        "share of sgemm's rate, references": share[0] / (among.wall + fitting.wall),
        "the same by processor time": 2 * share[1] / (ours.processor + among.processor + fitting.processor),
        "sgemm GFLOP/s": 2 * N * references.size / share[0] / 1e9,
        "largest difference of proximity from faiss's": difference,
        "share of neighbours that faiss names too": hits / (10 * N),
        "megabytes allocated by a search, results included": _base.allocated(fitted.neighbors, queries[:8192]) / 1e6,
    }


class Stopwatch:
    """Adds up wall and processor seconds of the blocks it is entered for."""

    def __init__(self) -> None:
        self.wall = self.processor = 0.0

    def __enter__(self) -> None:
        self._start = time.perf_counter(), time.process_time()

    def __exit__(self, *_: object) -> None:
        self.wall += time.perf_counter() - self._start[0]
        self.processor += time.process_time() - self._start[1]


def simulated_outcomes(n: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    confidence, proximity = rng.beta(5, 1, n), rng.random(n)
    return confidence, rng.random(n) < confidence, proximity


def metrics(n: int = 50_000) -> dict[str, float]:
    """ECE, ACE, MCE and PIECE together, against the same by grouping a pandas frame: from the means of its groups, and
    by the formula applied to one group after the other."""
    import pandas as pd

    confidence, correct, proximity = simulated_outcomes(n)
    metrics = (px.ece, px.ace, px.mce, lambda c, r: px.piece(c, r, proximity))

    def ours() -> list[float]:
        return [metric(confidence, correct) for metric in metrics]

    def grouped(gaps: Callable[[Any], tuple[Any, Any]]) -> list[float]:
        frame = pd.DataFrame({"confidence": confidence, "correct": correct, "proximity": proximity})
        width = pd.cut(frame.confidence, np.linspace(0, 1, 16), include_lowest=True)
        count = pd.qcut(frame.confidence, 15, labels=False)
        inner = frame.groupby(count)["proximity"].transform(lambda d: pd.qcut(d, 10, labels=False))
        errors = [gaps(frame.groupby(keys, observed=True)) for keys in (width, count, width, [count, inner])]
        mean = [float((gap * size).sum() / n) for gap, size in errors]
        return [mean[0], mean[1], float(errors[2][0].max()), mean[3]]

    contestants = {
        "ours": ours,
        "pandas, means of groups": lambda: grouped(_gaps_of_means),
        "pandas, a group at a time": lambda: grouped(_gaps_by_apply),
    }
    seconds = {name: min(timed(work)[0] for _ in range(20)) for name, work in contestants.items()}
    values = {name: np.array(work()) for name, work in contestants.items()}
    result = {f"milliseconds, {name}": 1000 * value for name, value in seconds.items()}
    for name in list(contestants)[1:]:
        result[f"times faster than {name}"] = seconds[name] / seconds["ours"]
    return result | {"largest difference": max(float(np.abs(v - values["ours"]).max()) for v in values.values())}


def intervals(n: int = 50_000, n_resamples: int = 1000) -> dict[str, float]:
    """Intervals of ECE, ACE, MCE and PIECE, against drawing samples anew, of which some draws are timed."""
    confidence, correct, proximity = simulated_outcomes(n)
    arguments = {px.ece: {}, px.ace: {}, px.mce: {}, px.piece: {"proximity": proximity}}

    def ours() -> None:
        for metric, given in arguments.items():
            px.confidence_interval(metric, confidence, correct, n_resamples=n_resamples, **given)

    def redrawn() -> None:
        drawn = np.random.default_rng(0).integers(n, size=n)
        for metric, given in arguments.items():
            metric(confidence[drawn], correct[drawn], **{name: values[drawn] for name, values in given.items()})

    seconds = min(timed(ours)[0] for _ in range(3))
    one_draw = min(timed(redrawn)[0] for _ in range(20))
    return {"seconds, ours": seconds, "times faster than drawing samples anew": n_resamples * one_draw / seconds}


def _gaps_of_means(groups: Any) -> tuple[Any, Any]:
    return (groups["correct"].mean() - groups["confidence"].mean()).abs(), groups.size()


def _gaps_by_apply(groups: Any) -> tuple[Any, Any]:
    return groups.apply(lambda group: abs(group["correct"].mean() - group["confidence"].mean())), groups.size()


def whole() -> dict[str, float]:
    """ProCal's fit and apply, and what of them is not the neighbour search, which is timed within them."""
    logits, labels, features = workload(0)
    test_logits, _, test_features = workload(1)
    searching, search = Stopwatch(), px.Proximity.neighbors

    def watched(*arguments: Any, **settings: Any) -> Any:
        with searching:
            return search(*arguments, **settings)

    with mock.patch.object(px.Proximity, "neighbors", watched):
        fit, calibrator = timed(lambda: px.ProCal().fit(logits, labels, features=features))
        first = searching.wall
        apply, _ = timed(lambda: calibrator.predict_proba(test_logits, features=test_features))
    return {
        "seconds, fit": fit,
        "seconds, apply": apply,
        "seconds, fit but the search": fit - first,
        "seconds, apply but the search": apply - (searching.wall - first),
        "seconds, all but the searches": fit + apply - searching.wall,
    }


def workload(seed: int) -> tuple[Any, Any, Any]:
    logits, labels = _base.simulated_network(N, N_CLASSES, seed)
    return logits, labels, simulated_features(N, labels, seed + 10)


def memory() -> dict[str, float]:
    """Each in a process of its own, since a process never gives back its largest size."""
    return {
        f"peak as a share of inputs and outputs, {step}": float(
            subprocess.run(
                [sys.executable, __file__, "--memory", step], capture_output=True, check=True, text=True
            ).stdout
        )
        for step in ("fit", "predict_proba")
    }


def peak_share(step: str) -> float:
    logits, labels, features = workload(0)
    arrays = [logits, labels, features]
    size = sum(a.nbytes for a in arrays)
    few = slice(0, 3000)
    px.ProCal().fit(logits[few], labels[few], features=features[few]).predict_proba(logits[:9], features=features[:9])
    if step == "fit":
        return _peak_over(lambda: px.ProCal().fit(logits, labels, features=features), size) / size
    calibrator = px.ProCal().fit(logits[few], labels[few], features=features[few])
    size += 8 * logits.size
    return _peak_over(lambda: calibrator.predict_proba(logits, features=features), size - 8 * logits.size) / size


def _peak_over(work: Callable[[], Any], inputs: int) -> float:
    """Bytes of the inputs and of all that the call adds at its largest."""
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # Linux: forget the largest size so far
    before = _status("VmRSS")
    kept = work()
    peak = _status("VmHWM")
    del kept
    return inputs + max(0, peak - before)


def _status(key: str) -> int:
    with open("/proc/self/status") as file:
        return next(1024 * int(line.split()[1]) for line in file if line.startswith(key))


BENCHMARKS: dict[str, Callable[[], dict[str, float]]] = {
    "proximity": proximity,
    "density ratio": _density_ratio.compare,
    "temperature": _base.temperature,
    "multi-isotonic": _base.multi_isotonic,
    "bases": _base.every_base,
    "neighbour votes": lambda: _votes.speed(workload(0), workload(1)),
    "metrics": metrics,
    "intervals": intervals,
    "whole": whole,
    "memory": memory,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("only", nargs="*", metavar="NAME", help="of " + ", ".join(BENCHMARKS) + "; all unless named")
    parser.add_argument("--memory", choices=["fit", "predict_proba"], help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.memory:
        print(peak_share(arguments.memory))
        return
    for name in arguments.only or BENCHMARKS:
        print(f"\n{name}", flush=True)
        for key, value in BENCHMARKS[name]().items():
            print(f"  {key:50} {value:.4g}", flush=True)


if __name__ == "__main__":
    main()
