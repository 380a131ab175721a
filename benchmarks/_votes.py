"""Neighbour votes beside structured vector and matrix scaling (probmetrics' SVS and SMS), and on top of the latter.

Votes on top of another calibrator learn from rows that it gave without having seen the sample, in five folds: of its
own calibration samples it is too sure.
"""

import importlib.util
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from proxcal.base import make_base
from proxcal.base._cross_fitting import held_out_blocks
from proxcal.procal import Calibrated, ProCal


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
