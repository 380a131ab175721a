"""What calibrating costs a prediction, by method, for the paper's table of inference times to be held beside.

Theirs include the network (5.60 of the milliseconds) on a GPU of 2018, ours are what comes after the network on this
machine: so only what each method adds to the uncalibrated confidence, in units of the neighbour search of the same
machine, can be compared, and that loosely.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from proxcal._validation import Floats
from proxcal.experiments.bench.stage import Contestant, Stage
from proxcal.experiments.bench.workload import Samples, Workload, simulated
from proxcal.procal import ProCal

SEARCH, UNCALIBRATED, DEFAULT = "NS", "Conf", "proxcal's default"
PAPER_MILLISECONDS = {
    SEARCH: 0.04,
    UNCALIBRATED: 5.60,
    "TS": 5.60,
    "ETS": 5.64,
    "PTS": 5.61,
    "PTSK": 5.66,
    "HB": 5.63,
    "IR": 5.65,
    "MIR": 5.84,
    "BIN*": 5.70,
    "DEN*": 6.29,
}
_BASES = {
    UNCALIBRATED: "identity",
    "TS": "temperature",
    "ETS": "ensemble-temperature",
    "PTS": "parameterized-temperature",
    "PTSK": "neighbor-temperature",
    "HB": "histogram",
    "IR": "isotonic",
    "MIR": "multi-isotonic",
}
_INFORMED = {"BIN*": "bin-mean-shift", "DEN*": "density-ratio", DEFAULT: "auto"}


class _Applied(NamedTuple):
    calibrators: dict[str, ProCal]
    test: Samples


def _fitted(workload: Workload) -> _Applied:
    calibration, test = simulated(workload)
    calibrators = {name: ProCal(base=base, informed=None) for name, base in _BASES.items()}
    calibrators |= {name: ProCal(informed=informed) for name, informed in _INFORMED.items()}
    for calibrator in calibrators.values():
        calibrator.fit(calibration.logits, calibration.labels, features=calibration.features)
    return _Applied(calibrators, test)


def _search(applied: _Applied) -> Floats:
    return applied.calibrators["DEN*"].proximity_.score(applied.test.features)


def _apply(name: str) -> Callable[[Any], Floats]:
    def run(applied: _Applied) -> Floats:
        calibrator = applied.calibrators[name]
        return calibrator.predict_proba(applied.test.logits, features=applied.test.features)

    return run


INFERENCE = Stage(
    "inference",
    "rows of calibrated probabilities, by method",
    _fitted,
    (Contestant(SEARCH, _search), *(Contestant(name, _apply(name)) for name in (*_BASES, *_INFORMED))),
    (),
    (),
)
