"""Six weights by multinomial log loss, with a ridge, and what held-out folds say of them.

The features of a row are z/T (dense), the votes (sparse) and the classes' intercept (one number a class, but for a
sample's own share in it, which is taken out again: sparse). The gradient and the Hessian of the log loss,

    Σ E[f] − f_label,    Σ E[f fᵀ] − E[f] E[f]ᵀ,

need sums over the dense part and over the entries touched, a chunk of rows at a time: no n × C array is made. A chunk
holds rows of one fold, so the sums of all folds come from one pass, and the weights without a fold are one Newton step
from the weights of all: (H − H_fold)⁻¹ of the fold's own gradient.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from proxcal._held_out import believed_share, standard_error
from proxcal._validation import Array, Floats, Input, Ints, row_blocks
from proxcal.base._calibrator import as_logits
from proxcal.base._votes import N_VOTES, References, columns, counted, n_temporary, touched
from proxcal.proximity import Neighbors

N_WEIGHTS = N_VOTES + 2  # z/T first, the intercept last
STRENGTHS = np.geomspace(1000, 0.1, 9)  # the strongest first: each solution starts the next
_INTERCEPT_PRIOR = 20.0  # labels and expected labels added to each class
_LOWEST = -200.0  # of z/T below its row's largest: as good as −∞
_CHOOSING = 2000  # rows at most, evenly thinned, on which the strength is chosen
_KEPT = 300_000  # entries touched that are kept for them at most, unless that leaves fewer rows than
_FEWEST = 500
_BLOCK_BYTES = 1 << 20
_FEW = 200  # samples: so few share most of their voters and do not err independently; twice the errors are not believed
_MAX_STEPS = 50
_TOLERANCE = 1e-7  # of the mean loss
_PLAIN = np.eye(N_WEIGHTS)[0]


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


@dataclass(frozen=True)
class VoteFit:
    """What was learned, already reduced to the believed share; infinite strength where nothing was gained."""

    weights: Floats
    strength: float
    share: float
    accuracy_change: dict[str, float]


@dataclass(frozen=True)
class Outcome:
    """What some weights do to some of the rows: the loss and the prediction of each."""

    rows: Ints
    loss: Floats
    predicted: Ints

    @classmethod
    def plain(cls, rows: VoteRows) -> Self:
        """Of temperature scaling, to all rows."""
        n = len(rows.labels)
        outcome = cls(np.arange(n), np.empty(n), np.empty(n, dtype=np.intp))
        for block in row_blocks(n, rows.n_classes, _BLOCK_BYTES):
            logits = scaled(rows.scores[block], rows.input, rows.temperature)
            outcome.loss[block], outcome.predicted[block] = _loss(logits, rows.labels[block])
        return outcome

    @classmethod
    def held_out(cls, rows: VoteRows, chunks: Chunks, weights: Floats) -> Self:
        """By weights of each fold, (n_folds, 6), that never saw it."""
        parts = []
        for chunk in chunks():
            logits, _ = _logits(rows, chunk, weights[chunk.fold])
            parts.append((chunk.rows, *_loss(logits, rows.labels[chunk.rows])))
        return cls(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def _loss(logits: Floats, labels: Ints) -> tuple[Floats, Ints]:
    top = logits.max(axis=1)
    loss = np.log(np.exp(logits - top[:, None]).sum(axis=1)) + top - logits[np.arange(len(labels)), labels]
    return loss, logits.argmax(axis=1)


def fit_weights(rows: VoteRows, gate: float) -> VoteFit:
    """The weights at the strength of least held-out log loss, as far from temperature scaling as is believed."""
    plain = Outcome.plain(rows)
    strength, start = _choose_strength(rows)
    weights, sums = _newton(rows, rows.chunks, strength, start)
    without_fold = _without_each_fold(sums, strength, weights)
    held_out = Outcome.held_out(rows, rows.chunks, without_fold)
    share = believed_share(plain.loss[held_out.rows] - held_out.loss, gate * (1 + _FEW / len(plain.rows)))
    if share == 0:
        return plain_weights()
    believed = Outcome.held_out(rows, rows.chunks, _PLAIN + share * (without_fold - _PLAIN))
    return VoteFit(_PLAIN + share * (weights - _PLAIN), strength, share, _accuracy_change(rows, plain, believed))


def plain_weights() -> VoteFit:
    """Temperature scaling."""
    return VoteFit(_PLAIN, np.inf, 0.0, {"change": 0.0, "low": 0.0, "high": 0.0, "changed": 0.0})


def scaled(scores: Array, input: Input, temperature: float) -> Floats:
    """z/T less its row's largest, in a fresh array."""
    z = np.array(as_logits(scores, input), dtype=np.float64, order="C")
    with np.errstate(over="ignore"):
        z -= z.max(axis=1, keepdims=True)
        z /= temperature
    np.maximum(z, _LOWEST, out=z)
    return z


def log_intercept(label_counts: Floats, expected_counts: Floats) -> Floats:
    intercept: Floats = np.log((label_counts + _INTERCEPT_PRIOR) / (expected_counts + _INTERCEPT_PRIOR))
    return intercept


def _accuracy_change(rows: VoteRows, plain: Outcome, votes: Outcome) -> dict[str, float]:
    labels, before = rows.labels[votes.rows], plain.predicted[votes.rows]
    change = (votes.predicted == labels).astype(np.float64) - (before == labels)
    mean, margin = float(change.mean()), 1.96 * standard_error(change)
    changed = float((votes.predicted != before).mean())
    return {"change": mean, "low": mean - margin, "high": mean + margin, "changed": changed}


def _choose_strength(rows: VoteRows) -> tuple[float, Floats]:
    """The strength of least held-out loss on some of the rows, and its weights."""
    kept = [chunk.rounded() for chunk in rows.chunks(_thinning(rows))]
    tried = []
    weights = _PLAIN
    for strength in STRENGTHS:
        weights, sums = _newton(rows, lambda: kept, strength, weights)
        held_out = Outcome.held_out(rows, lambda: kept, _without_each_fold(sums, strength, weights))
        tried.append((float(held_out.loss.mean()), float(strength), weights))
    _, best, best_weights = min(tried, key=lambda one: one[0])
    return best, best_weights


def _thinning(rows: VoteRows) -> int:
    """Every how many rows one is taken to choose the strength by."""
    some = next(rows.chunks())
    per_row = len(some.places) / len(some.rows)
    n_kept = min(_CHOOSING, max(_FEWEST, int(_KEPT / per_row)))
    return -(-len(rows.labels) // n_kept)


def _newton(rows: VoteRows, chunks: Chunks, strength: float, start: Floats) -> tuple[Floats, Sums]:
    """Minimiser of Σ log loss + ½ strength |w − plain|², by Newton steps, halved until the (convex) objective falls."""

    def objective(weights: Floats, sums: Sums) -> float:
        return float(sums.loss.sum() + 0.5 * strength * ((weights - _PLAIN) ** 2).sum())

    weights, sums = start, _sums(rows, chunks, start)
    n = len(rows.labels)
    for _ in range(_MAX_STEPS):
        gradient = sums.gradient.sum(axis=0) + strength * (weights - _PLAIN)
        step = np.linalg.solve(sums.hessian.sum(axis=0) + strength * np.eye(N_WEIGHTS), gradient)
        decrement = float(gradient @ step)
        if decrement <= _TOLERANCE * n:
            return weights, sums
        value, size = objective(weights, sums), 1.0
        while True:
            tried = weights - size * step
            sums = _sums(rows, chunks, tried)
            if objective(tried, sums) <= value - 0.25 * size * decrement:
                break
            size /= 2
        weights = tried
    raise RuntimeError("the weights of the votes did not converge: a defect of proxcal, please report it")


def _without_each_fold(sums: Sums, strength: float, weights: Floats) -> Floats:
    """(n_folds, 6): one Newton step from the minimiser over all rows, where the rest's gradient is minus the fold's."""
    whole = sums.hessian.sum(axis=0) + strength * np.eye(N_WEIGHTS)
    steps = np.linalg.solve(whole - sums.hessian, sums.gradient[:, :, None])[:, :, 0]
    found: Floats = weights + steps
    return found


def _sums(rows: VoteRows, chunks: Chunks, weights: Floats) -> Sums:
    loss, gradient = np.zeros(rows.n_folds), np.zeros((rows.n_folds, N_WEIGHTS))
    hessian = np.zeros((rows.n_folds, N_WEIGHTS, N_WEIGHTS))
    for chunk in chunks():
        of_loss, of_gradient, of_hessian = _chunk_sums(rows, chunk, weights)
        loss[chunk.fold] += of_loss
        gradient[chunk.fold] += of_gradient
        hessian[chunk.fold] += of_hessian
    return Sums(loss, gradient, hessian)


def _logits(rows: VoteRows, chunk: Chunk, weights: Floats) -> tuple[Floats, Floats]:
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
    logits, below = _logits(rows, chunk, weights)
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
