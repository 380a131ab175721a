"""Six weights by multinomial log loss, with a ridge, and what held-out folds say of them.

Votes for a class and its intercept may not speak against it: their weights are 0 or more (that of `expected`, which the
labels are compared with, may be negative). Without this, where classes are of equal size by design, as in a stratified
sample, each sample would give its class away: among the others its own class always counts one less, and a negative
weight reads that off the calibration samples, for nothing on new ones.

The weights without a fold are one Newton step from the weights of all, by what is left of the gradient and the Hessian.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.optimize import lsq_linear

from proxcal._held_out import believed_share, standard_error
from proxcal._validation import Floats, Ints, row_blocks
from proxcal.base._vote_rows import N_WEIGHTS, Chunks, Sums, VoteRows, logits_of, scaled, sums_over

STRENGTHS = np.geomspace(1000, 0.1, 9)  # the strongest first: each solution starts the next
LOWEST = np.array([-np.inf, 0, 0, 0, -np.inf, 0])  # each weight may have
_CHOOSING = 2000  # rows at most, evenly thinned, on which the strength is chosen
_KEPT = 300_000  # entries touched that are kept for them at most, unless that leaves fewer rows than
_FEWEST = 500
_BLOCK_BYTES = 1 << 20
_FEW = 200  # samples: so few share most of their voters and do not err independently; twice the errors are not believed
_MAX_STEPS = 50
_TOLERANCE = 1e-7  # of the mean loss
_PLAIN = np.eye(N_WEIGHTS)[0]


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
            logits, _ = logits_of(rows, chunk, weights[chunk.fold])
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
    """Minimiser of Σ log loss + ½ strength |w − plain|² with w ≥ lowest, by Newton steps, halved until the (convex)
    objective falls."""

    def objective(weights: Floats, sums: Sums) -> float:
        return float(sums.loss.sum() + 0.5 * strength * ((weights - _PLAIN) ** 2).sum())

    weights, sums = start, sums_over(rows, chunks, start)
    n = len(rows.labels)
    for _ in range(_MAX_STEPS):
        gradient = sums.gradient.sum(axis=0) + strength * (weights - _PLAIN)
        hessian = sums.hessian.sum(axis=0) + strength * np.eye(N_WEIGHTS)
        step = bounded_minimiser(weights, gradient, hessian) - weights
        decrement = -float(gradient @ step)
        if decrement <= _TOLERANCE * n:
            return weights, sums
        value, size = objective(weights, sums), 1.0
        while True:
            tried = weights + size * step
            sums = sums_over(rows, chunks, tried)
            if objective(tried, sums) <= value - 0.25 * size * decrement:
                break
            size /= 2
        weights = tried
    raise RuntimeError("the weights of the votes did not converge: a defect of proxcal, please report it")


def bounded_minimiser(weights: Floats, gradient: Floats, hessian: Floats) -> Floats:
    """Of the quadratic with this gradient and Hessian at `weights`, over all that are nowhere below the lowest."""
    free: Floats = weights - np.linalg.solve(hessian, gradient)
    if np.all(free >= LOWEST):
        return free
    root = np.linalg.cholesky(hessian).T
    found: Floats = lsq_linear(root, root @ free, (LOWEST, np.inf), method="bvls", max_iter=100).x
    bounded: Floats = np.maximum(found, LOWEST)
    return bounded


def _without_each_fold(sums: Sums, strength: float, weights: Floats) -> Floats:
    """(n_folds, 6): one Newton step from the minimiser over all rows."""
    gradient = sums.gradient.sum(axis=0) + strength * (weights - _PLAIN)
    hessian = sums.hessian.sum(axis=0) + strength * np.eye(N_WEIGHTS)
    parts = zip(sums.gradient, sums.hessian, strict=True)
    return np.stack([bounded_minimiser(weights, gradient - g, hessian - h) for g, h in parts])
