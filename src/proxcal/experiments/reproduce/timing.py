"""The paper's table of inference time: what calibrating costs a sample, beside what the network costs.

A method's own time is that from a sample's scores, and features where it takes them, to its confidence: mean of ten
runs over all test samples at once. The paper's figures hold the network's time too; what is compared is by how much
each exceeds the plain confidence, in percent.
"""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from proxcal._validation import Floats, Input
from proxcal.experiments.evaluate import SEEDS
from proxcal.experiments.reproduce.inputs import random_split
from proxcal.experiments.reproduce.printed import printed_times
from proxcal.experiments.reproduce.protocols import METHODS, N_RUNS
from proxcal.experiments.reproduce.run import Run
from proxcal.informed import BinMeanShift, DensityRatio
from proxcal.procal import ProCal

SEARCH, PLAIN = "NS", "Conf"
OF_THE_PAPER = {
    "BIN*": BinMeanShift(shrinkage=0.5),
    "DEN*": DensityRatio(coordinates="paper", evaluation="exact"),
}
OF_THE_PACKAGE = {
    "BIN*": "bin-mean-shift",
    "DEN*": "density-ratio",
    "logistic": "logistic",
    "neighborhood": "neighborhood",
}


class TimeRow(NamedTuple):
    """A method's own milliseconds a sample and their standard deviation over the runs; by how many percent it exceeds
    the network with plain confidences, where the network's time is known; and both in the paper."""

    method: str
    own_ms: float
    deviation: float
    added_percent: float | None
    paper_ms: str | None
    paper_added_percent: float | None


def measure_times(run: Run, network_ms: float | None) -> list[TimeRow]:
    timed = _timed(run)
    seconds: dict[str, list[float]] = {method: [] for method in timed}
    for i in range(N_RUNS):
        run.progress(i, N_RUNS, "timing")
        for method, calibrate in timed.items():
            start = time.perf_counter()
            n = calibrate()
            seconds[method].append((time.perf_counter() - start) / n)
    own = {method: 1000 * np.array(found) for method, found in seconds.items()}
    return [_row(method, own[method], float(own[PLAIN].mean()), network_ms) for method in own]


def _timed(run: Run) -> dict[str, Callable[[], int]]:
    """What is timed for each method, once over all test samples; each says how many they are."""
    calibration, test = random_split(run.protocol, run.inputs.only("predictions"), SEEDS[0])[1:]
    fitted = _calibrators(run.own_settings, calibration.input)
    for calibrator in fitted.values():
        calibrator.fit(calibration.scores, np.asarray(calibration.labels), features=calibration.features)
    search = fitted["BIN*"].proximity_

    def confidence(calibrator: ProCal) -> Callable[[], int]:
        features = test.features if calibrator._n_searched() else None
        return lambda: len(calibrator.confidence(test.scores, features=features))

    timed: dict[str, Callable[[], int]] = {SEARCH: lambda: len(search.neighbors(test.features).indices)}
    return timed | {method: confidence(calibrator) for method, calibrator in fitted.items()}


def _calibrators(own_settings: bool, input: Input) -> dict[str, ProCal]:
    """The base calibrators alone, then what ours adds to plain confidences; not yet fitted."""
    make, informed = (ProCal, OF_THE_PACKAGE) if own_settings else (ProCal.paper, OF_THE_PAPER)
    kept: dict[str, Any] = {"rows": "keep", "input": input}  # the confidence alone, without rows
    alone = {method: make(base=base, informed=None, **kept) for method, base in METHODS.items()}
    return alone | {method: make(base=METHODS[PLAIN], informed=of, **kept) for method, of in informed.items()}


def _row(method: str, own: Floats, plain: float, network_ms: float | None) -> TimeRow:
    mean, printed = float(own.mean()), printed_times()
    extra = mean if method == SEARCH else mean - plain
    added = None if network_ms is None else 100 * extra / (network_ms + plain)
    paper_ms = printed.get(method)
    paper_added = None
    if paper_ms is not None:
        paper_plain = float(printed[PLAIN])
        paper_added = 100 * (float(paper_ms) - (0 if method == SEARCH else paper_plain)) / paper_plain
    return TimeRow(method, mean, float(own.std(ddof=1)), added, paper_ms, paper_added)
