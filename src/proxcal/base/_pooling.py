"""Isotonic regression of 0/1 targets on the few points that matter: pool adjacent violators around the positives.

Between two neighbouring positives' scores all targets are 0, and equal targets in a row always get one value. So of any
number of negatives only three things are needed for each distinct score of a positive: how many scores lie below it,
how many are equal to it, and the largest one below, where the step before it ends. That leaves at most 2 P + 1 weighted
points for P positives, however large n × C is, and the scores may come in chunks.
"""

from typing import Literal

import numpy as np
from scipy.optimize import isotonic_regression

from proxcal._validation import Floats, Ints

Ties = Literal["keep", "break"]
TIES: tuple[Ties, ...] = ("keep", "break")
LEAST = 1e-290  # smaller probabilities count as this: a step between two of them would be too steep for float64


def own_share(ties: Ties, n_samples: int) -> float:
    """The part of the model's own probability that keeps a step from tying: of n samples, one in n + 1."""
    return 1 / (n_samples + 1) if ties == "break" else 0.0


def interpolated(probs: Floats, knots: Floats) -> Floats:
    """The function with these knots: linear between them, constant outside."""
    values: Floats = np.interp(np.maximum(probs, LEAST), np.maximum(knots[0], LEAST), knots[1])
    return values


def blend(values: Floats, probs: Floats, share: float) -> Floats:
    """(1 − share) · values + share · probs, in place."""
    if share:
        values *= 1 - share
        values += share * probs
    return values


class Tally:
    """Counts of scores around the distinct scores of the positives, and the isotonic function that they give."""

    def __init__(self, positives: Floats) -> None:
        self.at, self.hits = np.unique(positives, return_counts=True)
        self.below: Ints = np.zeros(len(self.at), dtype=np.intp)
        self.equal: Ints = np.zeros(len(self.at), dtype=np.intp)
        self.before = np.full(len(self.at), -np.inf)
        self.n, self.low, self.high = 0, np.inf, -np.inf

    def add(self, scores: Floats) -> None:
        """Counts a chunk of scores, positives among them, sorted in ascending order."""
        left = np.searchsorted(scores, self.at, side="left")
        self.below += left
        self.equal += np.searchsorted(scores, self.at, side="right") - left
        np.maximum(self.before, np.where(left > 0, scores[left - 1], -np.inf), out=self.before)
        self.n += len(scores)
        self.low, self.high = min(self.low, scores[0]), max(self.high, scores[-1])

    def knots(self) -> Floats:
        """(2, k): the ends of the pooled steps and their values; linear in between."""
        weight = np.zeros(2 * len(self.at) + 1)
        weight[0::2] = np.diff(np.append(self.below, self.n), prepend=0)
        weight[2::2] -= self.equal
        weight[1::2] = self.equal
        target = np.zeros(len(weight))
        target[1::2] = self.hits / self.equal
        point = np.flatnonzero(weight)
        fit = isotonic_regression(target[point], weights=weight[point])
        first = fit.blocks[:-1]
        step = point[first][1:] // 2  # every step but the first begins at a positive
        left, right = np.append(self.low, self.at[step]), np.append(self.before[step], self.high)
        ends = np.stack([np.stack([left, right], axis=1), np.repeat(fit.x[first], 2).reshape(-1, 2)])
        wide = np.stack([np.ones(len(left), dtype=np.bool_), right > left], axis=1)
        return ends[:, wide]
