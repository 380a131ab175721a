"""What the base calibrators share: rows of scores come in, rows of probabilities go out, a block at a time.

A base knows the scores alone. Its subclass says how to learn (`_fit`) and how to turn a block of rows into
probabilities (`_rows`); checking, blocks and the kind of scores are settled here, so that no method ever holds a second
n × C array.
"""

from abc import abstractmethod
from collections.abc import Iterator
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from proxcal._estimator import Estimator
from proxcal._validation import Array, Floats, Input, Ints, blocks_of, check_labels, check_scores
from proxcal.proximity import Neighbors

Blocks = Iterator[tuple[slice, Floats]]


class BaseCalibrator(Estimator):
    """Scores to calibrated rows. `input` says what `fit` and `predict_proba` get: "logits" or "probs"."""

    input: Input
    preserves_order = False  # whether the largest score always keeps the largest probability
    fits_closely = False  # whether it is much surer of its calibration samples than new ones allow

    @property
    def n_searched(self) -> int:
        """How many nearest references of each sample it wants to see."""
        return 0

    def fit(self, scores: ArrayLike, y: ArrayLike) -> Self:
        scores = check_scores(scores, self.input)
        return self.fit_with(scores, check_labels(y, *scores.shape, name="y"))

    def fit_with(self, scores: Array, labels: Ints, neighbors: Neighbors | None = None) -> Self:
        """Fit on checked arrays, and on the neighbours of each sample among them where `n_searched` asks for them."""
        self.n_classes_ = scores.shape[1]
        self._fit(scores, labels)
        return self

    def predict_proba(self, scores: ArrayLike) -> Floats:
        check_is_fitted(self)
        scores = check_scores(scores, self.input, n_classes=self.n_classes_)
        return joined(self.blocks(scores), scores.shape)

    def predict(self, scores: ArrayLike) -> Ints:
        predicted: Ints = self.predict_proba(scores).argmax(axis=1)
        return predicted

    def blocks(self, scores: Array, neighbors: Neighbors | None = None) -> Blocks:
        """Calibrated rows of checked scores, a block at a time, for those who need no whole n × C array."""
        for block in blocks_of(scores):
            yield block, self._rows(scores[block])

    def remember(self, scores: Array, labels: Ints) -> None:
        """Keep of checked further references what is needed of each, behind that of the references so far; no array
        is changed in place."""

    def keep(self, which: Ints) -> None:
        """Forget, of what is kept of each reference, all but these."""

    @abstractmethod
    def _fit(self, scores: Array, labels: Ints) -> None: ...

    @abstractmethod
    def _rows(self, scores: Array) -> Floats: ...


def joined(blocks: Blocks, shape: tuple[int, ...]) -> Floats:
    """The blocks of rows as one array."""
    rows: Floats = np.empty(shape)
    for block, some in blocks:
        rows[block] = some
    return rows


def stored(blocks: Blocks, into: Floats) -> Blocks:
    """The same blocks, each put into its place as it passes."""
    for block, rows in blocks:
        into[block] = rows
        yield block, rows


def softmax(logits: Array, inverse_temperature: float | Floats = 1.0) -> Floats:
    """Rows of softmax(β z) in float64, β one number or a column of them; the result is a fresh array."""
    z = np.array(logits, dtype=np.float64, order="C")
    with np.errstate(over="ignore"):
        z -= z.max(axis=1, keepdims=True)
        z *= inverse_temperature
    np.exp(z, out=z)
    z /= z.sum(axis=1, keepdims=True)
    return z


def as_probs(scores: Array, input: Input) -> Floats:
    """Rows of probabilities that sum to 1 exactly (within float64), whichever kind of scores came."""
    if input == "logits":
        return softmax(scores)
    probs = np.array(scores, dtype=np.float64, order="C")
    probs /= probs.sum(axis=1, keepdims=True)
    return probs


def as_logits(scores: Array, input: Input) -> Array:
    """Rows of logits; for probabilities their logarithm, an exact 0 standing at its type's smallest number."""
    if input == "logits":
        return scores
    floor = np.finfo(scores.dtype).smallest_subnormal
    logits: Floats = np.log(np.maximum(scores, floor, dtype=np.float64, order="C"))
    return logits
