"""From calibrated to far off: what n samples show of a model whose true error is θ, for θ from 0 upwards.

All cells are off by t times their pattern. The values that n samples then show are drawn for each t from the same seed,
so that their quantiles rise with θ, and a value seen can be looked up among them: that turns the error round.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from proxcal._validation import Floats
from proxcal.metrics._cells import Cells

N_STEPS = 32
REACH = 5  # standard deviations beyond the value: far enough for any level up to 0.9999, where they are normal
FARTHEST = 4.0  # times the pattern, whose mean is 1
EQUAL = 1e-9  # values closer than this are the same: they are sums in another order

Step = Callable[[float], tuple[Floats, Floats]]


@dataclass(frozen=True, eq=False)
class Path:
    """Per step the true error, the cells' expected Σ (correct - confidence), and quantiles of what samples show."""

    truth: Floats
    excess: Floats
    shown: Floats

    def least_truth_of(self, values: Floats | float, quantile: int) -> Floats:
        """The least true errors of which the values are that quantile, by its number; 0 for values below all."""
        return np.interp(EQUAL - np.asarray(values), -self.shown[::-1, quantile], self.truth[::-1])

    def most_truth_of(self, values: Floats | float, quantile: int) -> Floats:
        """The largest: another where errors of several sizes show the same."""
        return np.interp(EQUAL + np.asarray(values), self.shown[:, quantile], self.truth)

    def excess_of(self, truth: float) -> Floats:
        """What the cells' sums are expected to be for that true error."""
        step = int(np.clip(np.searchsorted(self.truth, truth), 1, len(self.truth) - 1))
        below, above = self.truth[step - 1], self.truth[step]
        share = (truth - below) / (above - below) if above > below else 0.0
        between: Floats = (1 - share) * self.excess[step - 1] + share * self.excess[step]
        return between


def walk(cells: Cells, value: float, quantiles: tuple[float, ...], n_resamples: int, seed: int) -> Path:
    """The path from a calibrated model to beyond any that would plausibly show `value`."""
    scale = float(cells.error(cells.count * cells.pattern))
    outward = np.where(cells.confidence > 0.5, -1.0, 1.0)
    pattern = cells.pattern / scale if scale > 0 else outward
    held = np.flatnonzero(cells.count)
    n, confidence = cells.count[held], cells.confidence[held]

    def step(size: float) -> tuple[Floats, Floats]:
        """Σ (correct - confidence) by cell as expected, and the errors drawn."""
        p = np.clip(confidence + size * pattern[held], 0, 1)
        sums = np.zeros((n_resamples + 1, len(cells.count)))
        sums[0, held] = n * (p - confidence)
        sums[1:, held] = np.random.default_rng(seed).binomial(n, p, size=(n_resamples, len(n))) - n * confidence
        return sums[0], cells.error(sums[1:])

    room = np.where(pattern[held] > 0, 1 - confidence, confidence)
    farthest = np.divide(room, np.abs(pattern[held]), out=np.zeros_like(room), where=pattern[held] != 0).max()
    reach = _reach(step, value, min(quantiles), 1 / n.sum(), min(farthest, FARTHEST))
    sizes = np.linspace(0, reach, N_STEPS)
    excess, drawn = map(np.array, zip(*map(step, sizes), strict=True))
    return Path(cells.error(excess), excess, np.maximum.accumulate(np.quantile(drawn, quantiles, axis=1).T, axis=0))


def _reach(step: Step, value: float, quantile: float, at_least: float, at_most: float) -> float:
    """The size at which even that low quantile of what is shown is above the value, or `at_most`."""
    calibrated, as_seen = step(0.0)[1], step(value)[1]
    typical = max(value, float(np.median(calibrated)))
    reach = max(typical + REACH * float(max(calibrated.std(), as_seen.std())), at_least)
    while reach < at_most and np.quantile(step(reach)[1], quantile) <= typical:
        reach *= 2
    return min(reach, at_most)
