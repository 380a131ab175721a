"""Neighbour votes beside structured vector and matrix scaling (probmetrics' SVS and SMS), and on top of the latter.

Votes on top of another calibrator learn from rows that it gave without having seen the sample, in five folds: of its
own calibration samples it is too sure.
"""

import importlib.util
import tempfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import numpy as np
from _base import timed

from proxcal import Proximity
from proxcal.base import NeighborVotes, TemperatureScaling, make_base
from proxcal.base._cross_fitting import held_out_blocks
from proxcal.procal import ProCal
from proxcal.rows import Calibrated


class VotesOnTop:
    """Neighbour votes whose z are the log-probabilities of another calibrator."""

    def __init__(self, base: Any) -> None:
        self.base = make_base(base)

    def fit(self, logits: np.ndarray, labels: np.ndarray, features: np.ndarray) -> Self:
        rows = np.empty(logits.shape)
        for places, held_out in held_out_blocks(self.base, logits, labels, random_state=0):
            rows[places] = held_out
        self.votes = ProCal(base="neighbor-votes", informed=None, input="probs").fit(rows, labels, features)
        self.base.fit(logits, labels)
        return self

    def calibrate(self, logits: np.ndarray, features: np.ndarray) -> Calibrated:
        return self.votes.calibrate(self.base.predict_proba(logits), features)


def methods() -> dict[str, Callable[[], Any]]:
    found: dict[str, Callable[[], Any]] = {
        "temperature": lambda: ProCal(informed=None),
        "neighbor-votes": lambda: ProCal(base="neighbor-votes", informed=None),
        "neighbor-votes + ours": lambda: ProCal(base="neighbor-votes"),
    }
    if importlib.util.find_spec("probmetrics") is None:
        print("SVS and SMS are left out: probmetrics is not installed (the extra `oracles`)")
        return found
    from probmetrics.calibrators import SMSCalibrator, SVSCalibrator

    def quiet(calibrator: type) -> Any:
        return calibrator(print_init_info=False)

    return found | {
        "SVS": lambda: ProCal(base=quiet(SVSCalibrator), informed=None),
        "SMS": lambda: ProCal(base=quiet(SMSCalibrator), informed=None),
        "SMS + votes": lambda: VotesOnTop(quiet(SMSCalibrator)),
    }


def show_by_file(files: list[str], losses: dict[str, np.ndarray], accuracy: dict[str, np.ndarray]) -> None:
    """Of each method and file, means over seeds of what it changes of temperature scaling's; `losses` and `accuracy`
    are (files, seeds)."""
    width = max(map(len, losses))
    print("\nMulticlass NLL less temperature scaling's, by file; how many are lower, and the worst:\n")
    print(f"| {'method':{width}} | " + " | ".join(files) + " | lower | worst | accuracy change |")
    print(f"| {'-' * width} |" + " ---: |" * (len(files) + 3))
    for name in losses:
        change = (losses[name] - losses["temperature"]).mean(axis=1)
        accurate = (accuracy[name] - accuracy["temperature"]).mean()
        cells = [f"{x:+.4f}" for x in change]
        print(
            f"| {name:{width}} | {' | '.join(cells)} | {(change < 0).sum()} of {len(files)} | {change.max():+.4f}"
            f" | {accurate:+.2f} |"
        )


def speed(calibration: tuple[Any, Any, Any], test: tuple[Any, Any, Any]) -> dict[str, float]:
    """Fit and apply beyond the neighbour search, beside temperature scaling; what fit allocates at its peak; and what
    a saved calibrator holds beside the features. Both arguments are logits, labels and features, of which the search,
    not timed here, sees 64 columns."""
    logits, labels, features = calibration[0], calibration[1], calibration[2][:, :64]
    search = Proximity(n_neighbors=50).fit(features)
    among, found = search.neighbors(), search.neighbors(test[2][:, :64])
    temperature, plain = timed(lambda: TemperatureScaling().fit_with(logits, labels))
    fit, votes = timed(lambda: NeighborVotes().fit_with(logits, labels, among))
    apply_temperature, _ = timed(lambda: list(plain.blocks(test[0])))
    apply, _ = timed(lambda: list(votes.blocks(test[0], found)))
    tracemalloc.start()
    NeighborVotes().fit_with(logits, labels, among)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    with tempfile.TemporaryDirectory() as folder:
        saved = ProCal(base="neighbor-votes", informed=None, n_neighbors=50)
        saved.proximity_, saved.base_, saved.n_classes_ = search, votes, logits.shape[1]
        saved.save(Path(folder) / "votes.proxcal")
        size = (Path(folder) / "votes.proxcal").stat().st_size
    return {
        "seconds, fit": fit,
        "seconds, fit of temperature scaling": temperature,
        "seconds, apply": apply,
        "seconds, apply of temperature scaling": apply_temperature,
        "fit's peak as a share of the logits": peak / logits.nbytes,
        "megabytes saved beside the features": (size - features.nbytes) / 1e6,
    }
