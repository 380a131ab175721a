"""Passes over calibration rows for methods whose loss is a softmax of scaled logits: float32 rows, float64 sums.

All work on t = β (z − max z), which is bounded above by 0 whatever the scale of the logits, a block of rows at a time.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from proxcal._threads import in_threads
from proxcal._validation import Array, Floats, Input, Ints, blocks_of, row_blocks
from proxcal.base._calibrator import as_logits

_LOWEST = -1e290  # stands, in sums, for masked classes whose logits are the smallest number there is


@dataclass(frozen=True)
class SoftmaxRows:
    """The rows, the largest logit of each, and how far below it the label's logit and the mean of the classes lie."""

    scores: Array
    input: Input
    labels: Ints
    top: Floats
    label_below: Floats
    mean_below: Floats

    @classmethod
    def of(cls, scores: Array, labels: Ints, input: Input) -> Self:
        top, label, mean = np.empty((3, len(scores)))
        for block in blocks_of(scores):
            z = as_logits(scores[block], input)
            top[block] = z.max(axis=1)
            label[block] = z[np.arange(len(z)), labels[block]]
            with np.errstate(over="ignore"):
                mean[block] = z.mean(axis=1, dtype=np.float64)
        return cls(scores, input, labels, top, np.maximum(label - top, _LOWEST), np.maximum(mean - top, _LOWEST))

    def every(self, step: int) -> Self:
        """Evenly spaced rows, for a first look that costs little."""
        if step < 2:
            return self
        few = slice(None, None, step)
        return type(self)(
            self.scores[few], self.input, self.labels[few], self.top[few], self.label_below[few], self.mean_below[few]
        )

    def runner_up_below(self) -> Floats:
        """How far the second largest logit of each row lies below the largest."""
        runner_up = np.empty_like(self.top)
        for block in row_blocks(*self.scores.shape):
            runner_up[block] = np.partition(as_logits(self.scores[block], self.input), -2, axis=1)[:, -2]
        return np.maximum(runner_up - self.top, _LOWEST)

    def below_top(self, beta: float | Floats) -> Iterator[tuple[slice, Array]]:
        """Blocks of β (z − max z) in float32, the difference taken in the logits' own precision; −200 is as good as −∞.

        β is one number, or one a row. Each block is a fresh array.
        """
        for block in blocks_of(self.scores):
            yield block, self._below_top(block, beta)

    def of_blocks(self, work: Callable[[slice, Array], Any], beta: float | Floats, n_values: int) -> Floats:
        """(n_values, rows) of what `work` gives of each block and its `below_top`, blocks side by side."""
        values = np.empty((n_values, len(self.top)))

        def fill(block: slice) -> None:
            values[:, block] = work(block, self._below_top(block, beta))

        in_threads(fill, row_blocks(*self.scores.shape))
        return values

    def _below_top(self, block: slice, beta: float | Floats) -> Array:
        beta_column = np.broadcast_to(beta, self.top.shape)[block, None]
        z = as_logits(self.scores[block], self.input)
        precision = np.float64 if z.dtype == np.float64 else np.float32
        with np.errstate(over="ignore"):
            t = np.subtract(z, self.top[block, None].astype(precision), dtype=precision, order="C")
            t *= beta_column.astype(precision)
        np.maximum(t, -200, out=t)
        below: Array = t.astype(np.float32, copy=False)
        return below
