"""Multi-class isotonic regression (Zhang et al. 2020): one increasing function for the probabilities of all classes.

It is fitted to all n × C probabilities against the one-hot labels, so a thousand classes share what few samples each
has; the rows are then made to sum to 1. Being one function it cannot reverse a row's ranking, but its steps can tie it.
"""

import numpy as np

from proxcal._validation import Array, Floats, Input, Ints, blocks_of, check_choice
from proxcal.base._calibrator import BaseCalibrator, as_probs
from proxcal.base._one_vs_rest import rows_to_one
from proxcal.base._pooling import TIES, Tally, Ties, blend, interpolated, own_share


class MultiIsotonicRegression(BaseCalibrator):
    """One shared increasing function; with `ties="break"` strictly increasing, so every row keeps its ranking.

    Learns `knots_` (2, knots), linear in between and constant outside, and `own_share_`.
    """

    fits_closely = True

    def __init__(self, *, ties: Ties = "keep", input: Input = "logits") -> None:
        self.ties = ties
        self.input = input

    @property
    def preserves_order(self) -> bool:  # type: ignore[override]
        return self.ties == "break"

    def _fit(self, scores: Array, labels: Ints) -> None:
        self.own_share_ = own_share(check_choice("ties", self.ties, TIES), len(labels))
        positives = np.empty(len(labels))
        for block in blocks_of(scores):
            probs = as_probs(scores[block], self.input)
            positives[block] = probs[np.arange(len(probs)), labels[block]]
        tally = Tally(positives)
        for block in blocks_of(scores):
            tally.add(np.sort(as_probs(scores[block], self.input), axis=None))
        self.knots_ = tally.knots()

    def _rows(self, scores: Array) -> Floats:
        probs = as_probs(scores, self.input)
        return rows_to_one(blend(interpolated(probs, self.knots_), probs, self.own_share_), probs)
