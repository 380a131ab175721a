"""Overfitting by proximity: how much more often a model is right on what it was trained on, where data is sparse.

    gap of a group = accuracy on its training samples - accuracy on its held-out samples

Both sets are grouped by the same edges, those of equal-count groups of the held-out samples, so that a gap is between
inputs of equal proximity. That needs both proximities from one reference set, held out from training, no sample its own
neighbour: among each other, training samples are nearer than new inputs are to them. A gap that widens towards low
proximity says that there the model learned by heart, and its confidence, learned on the same samples, will be too high.

The interval of a difference a - b of independent estimates takes in squares how far each may be off to that side
(Newcombe, 1998; Zou and Donner, 2008):

    a - b - √((a - a_low)² + (b_high - b)²)    to    a - b + √((a_high - a)² + (b - b_low)²)

first of two accuracies with Wilson's intervals, then of two gaps.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from proxcal._validation import Bools, Floats, Ints, check_integer, check_number, check_samples
from proxcal.bias.groups import split_by_proximity
from proxcal.metrics.intervals import wilson_interval


@dataclass(frozen=True, eq=False)
class OverfittingByProximity:
    """Per group, the lowest proximity first: counts and accuracies of both sets, and their `gap` with its interval.

    `edges` are the bounds of proximity, one more than there are groups. `excess` is the gap of the lowest group less
    that of the highest: above 0, the model is overfitted more where data is sparse.
    """

    edges: Floats
    train_count: Ints
    count: Ints
    train_accuracy: Floats
    accuracy: Floats
    gap: Floats
    gap_low: Floats
    gap_high: Floats
    excess: float
    excess_low: float
    excess_high: float
    level: float


def overfitting_by_proximity(
    train_correct: ArrayLike,
    train_proximity: ArrayLike,
    correct: ArrayLike,
    proximity: ArrayLike,
    n_groups: int = 5,
    *,
    level: float = 0.95,
) -> OverfittingByProximity:
    """Accuracy on training and on held-out samples (`correct`, `proximity`) by proximity, and the gaps between them.

    Measure both proximities to the same held-out reference set: `score(train_features)`, and `score()` for the
    references themselves.
    """
    n_groups = check_integer("n_groups", n_groups, at_least=2)
    level = check_number("level", level, above=0, at_most=1 - 1e-4)
    right, d = check_samples(correct=correct, proximity=proximity, at_least=n_groups)
    try:
        train_right, train_d = check_samples(correct=train_correct, proximity=train_proximity)
    except ValueError as error:
        raise ValueError(f"train_{error}") from None
    inner_edges = _inner_edges(d, n_groups)
    train_count, train = _accuracies(train_right, train_d, inner_edges, level, "train_proximity")
    count, held_out = _accuracies(right, d, inner_edges, level, "proximity")
    gap = _difference(train, held_out)
    excess, excess_low, excess_high = map(float, _difference(gap.of(0), gap.of(-1)))
    outermost = min(d.min(), train_d.min()), max(d.max(), train_d.max())
    return OverfittingByProximity(
        edges=np.concatenate((outermost[:1], inner_edges, outermost[1:])),
        train_count=train_count,
        count=count,
        train_accuracy=train.value,
        accuracy=held_out.value,
        gap=gap.value,
        gap_low=gap.low,
        gap_high=gap.high,
        excess=excess,
        excess_low=excess_low,
        excess_high=excess_high,
        level=level,
    )


class _Estimate(NamedTuple):
    value: Any
    low: Any
    high: Any

    def of(self, group: int) -> "_Estimate":
        return _Estimate(self.value[group], self.low[group], self.high[group])


def _inner_edges(proximity: Floats, n_groups: int) -> Floats:
    """The lowest proximity of each equal-count group but the first."""
    groups = split_by_proximity(proximity, n_groups)
    return np.array([proximity[groups == group].min() for group in range(1, n_groups)])


def _accuracies(
    correct: Bools, proximity: Floats, inner_edges: Floats, level: float, name: str
) -> tuple[Ints, _Estimate]:
    n_groups = len(inner_edges) + 1
    groups = np.searchsorted(inner_edges, proximity, side="right")
    count = np.bincount(groups, minlength=n_groups)
    if not count.all():
        raise ValueError(
            f"{name} has no samples in group {1 + int(np.argmin(count))} of {n_groups}, so overfitting there cannot be "
            "concluded: measure both proximities to the same references, or take fewer groups"
        )
    accuracy = np.bincount(groups, weights=correct, minlength=n_groups) / count
    return count, _Estimate(accuracy, *wilson_interval(accuracy, count, level))


def _difference(a: _Estimate, b: _Estimate) -> _Estimate:
    difference = a.value - b.value
    below = np.hypot(a.value - a.low, b.high - b.value)
    above = np.hypot(a.high - a.value, b.value - b.low)
    return _Estimate(difference, difference - below, difference + above)
