"""The calibration samples as votes see them, and the sums over them that Newton's method asks for.

The features of a row are z/T (dense), the votes (sparse) and the classes' intercept (one number a class, but for a
sample's own share in it, which is taken out again: sparse). The gradient and the Hessian of the log loss,

    Σ E[f] − f_label,    Σ E[f fᵀ] − E[f] E[f]ᵀ,

need sums over the dense part and over the entries touched, a chunk of rows at a time: no n × C array is made. A chunk
holds rows of one fold, so the sums of all folds come from one pass.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from proxcal._validation import Array, Floats, Input, Ints, row_blocks
from proxcal.base._calibrator import as_logits
from proxcal.base._votes import N_VOTES, References, columns, counted, n_temporary, touched
from proxcal.proximity import Neighbors

N_WEIGHTS = N_VOTES + 2  # z/T first, the intercept last
_INTERCEPT_PRIOR = 20.0  # labels and expected labels added to each class
LOWEST = -200.0  # of z/T below its row's largest: as good as −∞
_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True)
class Chunk:
    """Some rows of one fold: which, the places touched (row · C + class; `label` says which are the labels), and the
    columns there, (5, m), the intercept's last."""

    fold: int
    rows: Ints
    places: Ints
    label: Ints
    columns: Floats

    def rounded(self) -> "Chunk":
        """In half the memory."""
        return replace(self, places=self.places.astype(np.int32), columns=self.columns.astype(np.float32))


Chunks = Callable[[], Iterable[Chunk]]


@dataclass(frozen=True)
class VoteRows:
    """The calibration samples, which are the references too: rows, neighbours, folds."""

    scores: Array
    input: Input
    temperature: float
    labels: Ints
    neighbors: Neighbors
    references: References
    bandwidth: float
    label_counts: Floats
    expected_counts: Floats
    folds: Ints

    def chunks(self, step: int = 1) -> Iterator[Chunk]:
        """Every step-th row."""
        every = np.arange(0, len(self.labels), step)
        for fold in range(self.n_folds):
            members = every[self.folds[every] == fold]
            for block in row_blocks(len(members), n_temporary(self.n_classes), _BLOCK_BYTES):
                yield self._chunk(fold, members[block])

    @property
    def n_classes(self) -> int:
        return int(self.scores.shape[1])

    @property
    def n_folds(self) -> int:
        return int(self.folds.max()) + 1

    @property
    def intercept(self) -> Floats:
        return log_intercept(self.label_counts, self.expected_counts)

    def _chunk(self, fold: int, rows: Ints) -> Chunk:
        """The votes, and how a row's own label and probabilities change the intercept once they are taken out of it."""
        n = len(rows)
        counts = counted(self.neighbors.take(rows), self.references, self.bandwidth, self.n_classes)
        itself = self.references.take(rows)
        label = np.arange(n) * self.n_classes + self.labels[rows]
        expected = np.arange(n)[:, None] * self.n_classes + itself.classes
        own_label = np.bincount(label, minlength=n * self.n_classes)
        own_probs = np.bincount(expected.ravel(), itself.probs.ravel(), minlength=n * self.n_classes)
        places = touched([*counts, own_label, own_probs])
        where = places % self.n_classes
        without = log_intercept(
            self.label_counts[where] - own_label[places], self.expected_counts[where] - own_probs[places]
        )
        own = without - self.intercept[where]
        return Chunk(fold, rows, places, np.searchsorted(places, label), np.vstack([columns(counts, places), own]))


@dataclass(frozen=True)
class Sums:
    """Of each fold: the loss, its gradient and its Hessian."""

    loss: Floats
    gradient: Floats
    hessian: Floats


def sums_over(rows: VoteRows, chunks: Chunks, weights: Floats) -> Sums:
    loss, gradient = np.zeros(rows.n_folds), np.zeros((rows.n_folds, N_WEIGHTS))
    hessian = np.zeros((rows.n_folds, N_WEIGHTS, N_WEIGHTS))
    for chunk in chunks():
        of_loss, of_gradient, of_hessian = _chunk_sums(rows, chunk, weights)
        loss[chunk.fold] += of_loss
        gradient[chunk.fold] += of_gradient
        hessian[chunk.fold] += of_hessian
    return Sums(loss, gradient, hessian)


def logits_of(rows: VoteRows, chunk: Chunk, weights: Floats) -> tuple[Floats, Floats]:
    """Rows of new logits, and z/T."""
    below = scaled(rows.scores[chunk.rows], rows.input, rows.temperature)
    logits = weights[0] * below
    logits += weights[-1] * rows.intercept
    logits.reshape(-1)[chunk.places] += weights[1:] @ chunk.columns
    return logits, below


def _chunk_sums(rows: VoteRows, chunk: Chunk, weights: Floats) -> tuple[float, Floats, Floats]:
    """Loss, gradient and Hessian.

    The first and the last feature are dense: of their products the sum goes over all classes, not over those touched.
    """
    n = len(chunk.rows)
    logits, below = logits_of(rows, chunk, weights)
    logits -= logits.max(axis=1, keepdims=True)
    of_label = logits.reshape(-1)[chunk.places[chunk.label]]
    probs = np.exp(logits, out=logits)
    total = probs.sum(axis=1, keepdims=True)
    probs /= total
    loss = float(np.log(total).sum() - of_label.sum())
    probs_below, intercept = probs * below, rows.intercept
    row, label = np.divmod(chunk.places, rows.n_classes)
    p, own = probs.reshape(-1)[chunk.places], chunk.columns[-1]
    features = np.vstack([below.reshape(-1)[chunk.places], chunk.columns])
    features[-1] += intercept[label]
    weighed = features * p
    square = weighed @ features.T
    weighed[-1] = own * p
    mean = np.add.reduceat(weighed, np.searchsorted(row, np.arange(n)), axis=1)
    mean[0] = probs_below.sum(axis=1)
    mean[-1] += probs @ intercept
    square[0, 0] = np.einsum("ij,ij->", probs_below, below)
    square[0, -1] = square[-1, 0] = (probs_below @ intercept).sum() + (p * features[0]) @ own
    square[-1, -1] = (probs @ intercept**2).sum() + p @ (own * (own + 2 * intercept[label]))
    return loss, (mean - features[:, chunk.label]).sum(axis=1), square - mean @ mean.T


def scaled(scores: Array, input: Input, temperature: float) -> Floats:
    """z/T less its row's largest, in a fresh array."""
    z = np.array(as_logits(scores, input), dtype=np.float64, order="C")
    with np.errstate(over="ignore"):
        z -= z.max(axis=1, keepdims=True)
        z /= temperature
    np.maximum(z, LOWEST, out=z)
    return z


def log_intercept(label_counts: Floats, expected_counts: Floats) -> Floats:
    intercept: Floats = np.log((label_counts + _INTERCEPT_PRIOR) / (expected_counts + _INTERCEPT_PRIOR))
    return intercept
