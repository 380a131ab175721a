"""Samples grouped by proximity: the table in which proximity bias is seen.

Equal-count groups, lowest proximity first. Where confidence can be trusted, accuracy - confidence is near 0 in each.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from proxcal._validation import Bools, Floats, Ints, check_integer, check_samples
from proxcal.metrics.binning import equal_count, tabulate


@dataclass(frozen=True, eq=False)
class ProximityGroups:
    """Per group count, mean proximity, accuracy and mean confidence; `groups` is the group of each sample."""

    count: Ints
    proximity: Floats
    accuracy: Floats
    confidence: Floats
    groups: Ints

    @property
    def gap(self) -> Floats:
        """accuracy - confidence: below 0 where the model is overconfident."""
        return self.accuracy - self.confidence


def proximity_groups(
    confidence: ArrayLike, correct: ArrayLike, proximity: ArrayLike, n_groups: int = 5
) -> ProximityGroups:
    """Accuracy and confidence of equal-count groups by proximity, the lowest first."""
    n_groups = check_integer("n_groups", n_groups, at_least=2)
    samples = check_samples(confidence=confidence, correct=correct, proximity=proximity, at_least=n_groups)
    return _tabulate(n_groups, *samples)


def _tabulate(n_groups: int, confidence: Floats, correct: Bools, proximity: Floats) -> ProximityGroups:
    groups = split_by_proximity(proximity, n_groups)
    table = tabulate(groups, n_groups, confidence, correct)
    mean_proximity = np.bincount(groups, weights=proximity, minlength=n_groups) / table.count
    return ProximityGroups(**vars(table), proximity=mean_proximity, groups=groups)


def split_by_proximity(proximity: Floats, n_groups: int) -> Ints:
    """The group of each sample, from 0 (lowest proximity) to n_groups - 1, the outermost two kept apart."""
    groups = equal_count(proximity, n_groups)
    highest_of_lowest, lowest_of_highest = proximity[groups == 0].max(), proximity[groups == n_groups - 1].min()
    if highest_of_lowest == lowest_of_highest:
        share = np.mean(proximity == highest_of_lowest)
        raise ValueError(
            f"proximity is {highest_of_lowest:.6g} for {share:.0%} of the samples, so the lowest and the highest of "
            f"{n_groups} groups do not differ (if it underflowed, give its logarithm)"
        )
    return groups
