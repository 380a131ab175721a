"""What a row's neighbours say of each class, where they say anything.

    ten        labels among the 10 nearest, each weighing exp(−(d/h)²)
    fifty      labels among the 50 nearest, weighing the same
    close      labels among the 50, each weighing exp(−(2d/h)²)
    expected   the probabilities the model gave to the 50, each weighing exp(−(d/h)²)

with h the median distance among calibration samples. `expected` is what the labels are compared with: where they say no
more than the model expected there, votes should change nothing. Far references say little: labels merely counted did as
well on samples like the calibration set, but made the model surer of what lies outside it.

A vote v enters as log(v + ⅕), less log ⅕, which a softmax does not see: so it is 0 for every class without a vote, and
of C classes a row keeps only the few dozen touched. The ⅕ is the same for all classes: a rare class, once voted for,
counts as much as a common one. Of each reference only its largest probabilities are remembered.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from proxcal._validation import Array, Floats, Ints
from proxcal.proximity import Neighbors

NEAR, FAR = 10, 50
N_VOTES = 4
N_REMEMBERED = 20  # largest probabilities of a reference
PRIOR = 0.2
_TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class References:
    """Of each reference its label, and its largest probabilities: whose they are, and how large."""

    labels: NDArray[np.int32]
    classes: NDArray[np.unsignedinteger]
    probs: NDArray[np.float32]

    @classmethod
    def of(cls, labels: Ints, rows: Array) -> Self:
        """From labels and a whole block of probability rows."""
        n_classes = rows.shape[1]
        m = min(N_REMEMBERED, n_classes)
        largest = np.argpartition(rows, n_classes - m, axis=1)[:, n_classes - m :]
        probs = np.take_along_axis(rows, largest, axis=1).astype(np.float32)
        return cls(labels.astype(np.int32), largest.astype(np.min_scalar_type(n_classes)), probs)

    @classmethod
    def joined(cls, parts: list["References"]) -> Self:
        return cls(*(np.concatenate([getattr(p, name) for p in parts]) for name in ("labels", "classes", "probs")))

    def take(self, which: Ints) -> "References":
        return References(self.labels[which], self.classes[which], self.probs[which])


def n_temporary(n_classes: int) -> int:
    """Numbers a row that the largest temporaries below hold: what blocks of rows are sized by."""
    return n_classes + FAR * min(N_REMEMBERED, n_classes)


def counted(neighbors: Neighbors, references: References, bandwidth: float, n_classes: int) -> list[Array]:
    """The four votes of every class, as they are: each a flat array of n · C."""
    far = neighbors.nearest(FAR)
    n = len(far.indices)
    row = n_classes * np.arange(n)[:, None]
    with np.errstate(over="ignore", under="ignore"):
        closeness = np.exp(-((far.distances / max(bandwidth, _TINY)) ** 2))
    labels = row + references.labels[far.indices]
    expected = row[:, :, None] + references.classes[far.indices]
    weights: Array = references.probs[far.indices] * closeness[:, :, None]

    def total(places: Ints, weights: Array) -> Array:
        return np.bincount(places.ravel(), weights.ravel(), minlength=n * n_classes)

    ten = total(labels[:, :NEAR], closeness[:, :NEAR])
    return [ten, total(labels, closeness), total(labels, closeness**4), total(expected, weights)]


def touched(counts: list[Array]) -> Ints:
    """Where any is not 0: row · C + class, ascending. What the first and the third count, the second does too."""
    anywhere = counts[1] > 0
    for count in counts[3:]:
        anywhere |= count > 0
    places: Ints = np.flatnonzero(anywhere)
    return places


def columns(counts: list[Array], places: Ints) -> Floats:
    """log1p(v / ⅕) of each vote at these places."""
    logs: Floats = np.log1p(np.stack([count[places] for count in counts]) / PRIOR)
    return logs
