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
from proxcal.experiments.reproduce import METHODS
from proxcal.procal import ProCal

SEARCH, UNCALIBRATED, DEFAULT = "NS", "Conf", "proxcal's default"
_INFORMED = {"BIN*": "bin-mean-shift", "DEN*": "density-ratio", DEFAULT: "auto"}


class _Applied(NamedTuple):
    calibrators: dict[str, ProCal]
    test: Samples


def _fitted(workload: Workload) -> _Applied:
    calibration, test = simulated(workload)
    calibrators = {name: ProCal(base=base, informed=None) for name, base in METHODS.items()}
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
    (Contestant(SEARCH, _search), *(Contestant(name, _apply(name)) for name in (*METHODS, *_INFORMED))),
    (),
    (),
)
