"""The largest probability of each row, and whose it is: all that the informed step needs of rows.

Where there is nothing to predict (a bare confidence as a row of two classes, wrong and right), the class asked for
takes the place of the largest.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np

from proxcal._validation import Floats, Ints


@dataclass(frozen=True)
class Top:
    confidence: Floats
    predicted: Ints

    @classmethod
    def of(cls, blocks: Iterable[tuple[slice | Ints, Floats]], n_samples: int, asked_for: int | None = None) -> Self:
        confidence, predicted = np.empty(n_samples), np.empty(n_samples, dtype=np.intp)
        for block, rows in blocks:
            predicted[block] = rows.argmax(axis=1) if asked_for is None else asked_for
            confidence[block] = rows.max(axis=1) if asked_for is None else rows[:, asked_for]
        return cls(confidence, predicted)

    def followed_by(self, others: "Top") -> "Top":
        return Top(
            np.concatenate([self.confidence, others.confidence]), np.concatenate([self.predicted, others.predicted])
        )

    def take(self, which: Ints) -> "Top":
        return Top(self.confidence[which], self.predicted[which])
