"""A logistic correction that has to earn its place: logit P(correct) = logit(confidence) + X w, with a ridge towards
w = 0.

One strength scales all penalties and is chosen by cross-validated log loss, w = 0 (the confidence as it was) among
the candidates. What was found is then kept only as far as it is believed: of a held-out gain G with paired standard
error S, the share (G − gate · S) / G of the correction is applied. So a gain within its noise changes nothing, and a
doubtful one little; a gate that opens all at once does harm where calibration samples are few.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, log_expit, logit

from proxcal._held_out import believed_share
from proxcal._validation import Bools, Floats, Ints

STRENGTHS = np.geomspace(3000, 1, 8)  # the strongest first: each solution starts the next
LOGIT_BOUND = 1e-10  # confidences nearer to 0 or 1 count as this far from it
_MAX_STEPS = 50
_TOLERANCE = 1e-8  # of the mean loss: far below its standard error with any number of samples


@dataclass(frozen=True)
class RidgeFit:
    """What was learned, already reduced to the believed share: weights, and held-out log-odds of each sample."""

    weights: Floats
    strength: float  # infinity where nothing was gained
    share: float
    held_out: Floats


def log_odds(confidence: Floats) -> Floats:
    odds: Floats = logit(np.clip(confidence, LOGIT_BOUND, 1 - LOGIT_BOUND))
    return odds


def log_loss(odds: Floats, correct: Bools) -> Floats:
    """−log of the probability given to what happened, a sample."""
    loss: Floats = -log_expit(np.where(correct, odds, -odds))
    return loss


def fit_ridge(columns: Floats, penalty: Floats, offset: Floats, correct: Bools, folds: Ints, gate: float) -> RidgeFit:
    """Weights at the strength with the least held-out log loss, times the share of their gain beyond `gate` errors."""
    base = log_loss(offset, correct)
    weights = np.zeros(columns.shape[1])
    best, best_loss = RidgeFit(weights, np.inf, 0.0, offset), base.mean()
    for strength in STRENGTHS:
        ridge = strength * penalty
        weights = newton(columns, ridge, offset, correct, weights)
        held_out = offset + _held_out_correction(columns, ridge, offset, correct, weights, folds)
        loss = log_loss(held_out, correct).mean()
        if loss < best_loss:
            best, best_loss = RidgeFit(weights, float(strength), 1.0, held_out), loss
    share = believed_share(base - log_loss(best.held_out, correct), gate)
    if share == 0:
        return RidgeFit(np.zeros_like(weights), np.inf, 0.0, offset)
    return RidgeFit(share * best.weights, best.strength, share, offset + share * (best.held_out - offset))


def _held_out_correction(
    columns: Floats, ridge: Floats, offset: Floats, correct: Bools, weights: Floats, folds: Ints
) -> Floats:
    """X w of each sample with the w of a fit without its fold: one Newton step from the w of all samples.

    At that w the gradient of the rest is minus the fold's own, so the step is (H − H_fold)⁻¹ g_fold, and all folds cost
    one pass over the samples together.
    """
    chance = expit(offset + columns @ weights)
    residual, curvature = chance - correct, chance * (1 - chance)
    members = [folds == fold for fold in range(int(folds.max()) + 1)]
    hessians = [_weighted_square(columns[inside], curvature[inside]) for inside in members]
    whole = np.sum(hessians, axis=0) + np.diag(ridge)
    correction = np.empty(len(offset))
    for inside, hessian in zip(members, hessians, strict=True):
        step = np.linalg.solve(whole - hessian, columns[inside].T @ residual[inside])
        correction[inside] = columns[inside] @ (weights + step)
    return correction


def _weighted_square(columns: Floats, weight: Floats) -> Floats:
    square: Floats = columns.T @ (weight[:, None] * columns)
    return square


def newton(columns: Floats, ridge: Floats, offset: Floats, correct: Bools, start: Floats) -> Floats:
    """Minimiser of Σ log loss + ½ Σ ridge w², by Newton steps, halved until the (convex) objective falls."""

    def objective(weights: Floats) -> float:
        return float(log_loss(offset + columns @ weights, correct).sum() + 0.5 * ridge @ weights**2)

    weights, value = start, objective(start)
    for _ in range(_MAX_STEPS):
        chance = expit(offset + columns @ weights)
        gradient = columns.T @ (chance - correct) + ridge * weights
        hessian = _weighted_square(columns, chance * (1 - chance)) + np.diag(ridge)
        step = np.linalg.solve(hessian, gradient)
        decrement = float(gradient @ step)
        if decrement <= _TOLERANCE * len(offset):
            return weights
        size = 1.0
        while objective(weights - size * step) > value - 0.25 * size * decrement:
            size /= 2
        weights = weights - size * step
        value = objective(weights)
    raise RuntimeError("the ridge regression did not converge: a defect of proxcal, please report it")
