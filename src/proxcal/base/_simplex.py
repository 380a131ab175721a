"""Weights that are at least 0 and sum to 1, chosen to make a convex loss least: exactly, for a few components.

A quadratic has its least value on one face of the simplex, where it solves a small linear system: for three weights
there are seven faces, so all are tried. A mixture's log loss is made of such quadratics by Newton's method.
"""

from itertools import combinations

import numpy as np

from proxcal._validation import Floats

_DECREMENT = 1e-12  # of the log loss, that a last Newton step may promise
_MAX_STEPS = 100


def least_quadratic(curvature: Floats, target: Floats) -> Floats:
    """argmin over the simplex of ½ wᵀ G w − hᵀ w."""
    scale = np.abs(curvature).max()
    g, h = curvature / scale, target / scale
    faces = [list(face) for size in range(1, len(h) + 1) for face in combinations(range(len(h)), size)]
    corners = [_least_on_face(g, h, face) for face in faces]
    inside = [w for w in corners if w.min() >= 0]
    return min(inside, key=lambda w: float(w @ g @ w / 2 - h @ w))


def _least_on_face(g: Floats, h: Floats, face: list[int]) -> Floats:
    """Stationary point of the quadratic where only these weights may differ from 0 and their sum is 1."""
    m = len(face)
    system = np.ones((m + 1, m + 1))
    system[:m, :m] = g[np.ix_(face, face)]
    system[m, m] = 0
    solved = np.linalg.lstsq(system, np.append(h[face], 1.0), rcond=None)[0][:m]
    weights = np.zeros(len(h))
    weights[face] = solved / solved.sum()
    return weights


def most_likely_mixture(likelihoods: Floats) -> tuple[Floats, float]:
    """argmin over the simplex of −mean log(w · q), and that loss, for `likelihoods` q of shape (components, samples).

    Newton with a line search, which on a convex loss ends at its least value.
    """
    weights = np.full(len(likelihoods), 1 / len(likelihoods))
    loss = _log_loss(weights, likelihoods)
    for _ in range(_MAX_STEPS):
        ratio = likelihoods / (weights @ likelihoods)
        slope = -ratio.mean(axis=1)
        curvature = ratio @ ratio.T / likelihoods.shape[1]
        target = least_quadratic(curvature, curvature @ weights - slope)
        gain = slope @ (weights - target)
        if gain < _DECREMENT:
            return weights, loss
        weights, loss = _line_search(weights, target, loss, gain, likelihoods)
    raise RuntimeError(f"the weights of the mixture did not converge in {_MAX_STEPS} steps")


def _line_search(
    weights: Floats, target: Floats, loss: float, gain: float, likelihoods: Floats
) -> tuple[Floats, float]:
    """The longest of halved steps towards the target that lowers the loss enough; a mean of weights stays one."""
    length = 1.0
    for _ in range(60):
        moved = (1 - length) * weights + length * target
        if (moved_loss := _log_loss(moved, likelihoods)) <= loss - 1e-4 * length * gain:
            return moved, moved_loss
        length /= 2
    return weights, loss


def _log_loss(weights: Floats, likelihoods: Floats) -> float:
    mixture = weights @ likelihoods
    return float(-np.log(mixture).mean()) if mixture.min() > 0 else np.inf
