"""The paper's figure of ImageNet-C: what ours takes off PIECE where the test images are corrupted and those that
calibrate are not.

Clean and corrupted images may be the same ones. Then those which calibrate are not tested on: an image is known by its
place where both files have the same labels in the same order.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np

from proxcal._validation import Ints
from proxcal.bundle import Predictions
from proxcal.experiments.evaluate import SEEDS
from proxcal.experiments.reproduce.inputs import drawn
from proxcal.experiments.reproduce.parts import Value
from proxcal.experiments.reproduce.run import PairRow, Run, pair_rows, values_of
from proxcal.experiments.split import check_alike, fit_found, pair_of, search_for
from proxcal.procal import ProCal


def measure_shifts(run: Run) -> tuple[list[PairRow], list[Value]]:
    """Base and ours under each shift, means over splits, and the values of every split."""
    clean, shifted = run.inputs.only("clean"), run.inputs.by_role["corrupted"]
    for test in shifted.values():
        check_alike(clean, test)
    n_parts = len(SEEDS) * len(shifted)
    values: list[Value] = []
    for i, seed in enumerate(SEEDS):
        fitted = _Fitted(run, clean, seed)
        for j, (shift, test) in enumerate(shifted.items()):
            measured = partial(fitted.measured, shift, test)
            values += run.part(i * len(shifted) + j, n_parts, f"{shift} {seed}", measured)
    return pair_rows(values, run.protocol, {}), values


class _Fitted:
    """Calibrators of one seed, fitted when they are first asked."""

    def __init__(self, run: Run, clean: Predictions, seed: int) -> None:
        self.run = run
        self.clean = clean
        self.seed = seed
        self.calibrators: dict[str, ProCal] = {}

    def measured(self, shift: str, test: Predictions) -> Sequence[Value]:
        if not self.calibrators:
            self._fit()
        tested = test.take(self._tested(test))
        neighbors = self.search.neighbors(np.asarray(tested.features), k=self.k)
        values = []
        for method, calibrator in self.calibrators.items():
            values += values_of(pair_of(calibrator, tested, neighbors), None, self.seed, shift, method, {})
        return values

    def _fit(self) -> None:
        calibration = self.clean.take(self._drawn[0])
        calibrators = self.run.calibrators(self.clean.input)
        self.search, neighbors = search_for(calibrators, calibration)
        self.k = neighbors.indices.shape[1]
        for calibrator in calibrators.values():
            fit_found(calibrator, calibration, self.search, neighbors)
        self.calibrators = calibrators

    def _tested(self, test: Predictions) -> Ints:
        """As many as of the clean file would be, or all there are; none whose image calibrates."""
        testing = self._drawn[1]
        if len(test) == len(self.clean) and np.array_equal(np.asarray(test.labels), np.asarray(self.clean.labels)):
            return testing
        return np.sort(np.random.default_rng(self.seed).permutation(len(test))[: len(testing)])

    @property
    def _drawn(self) -> tuple[Ints, Ints]:
        return drawn(self.run.protocol, len(self.clean), self.seed)
