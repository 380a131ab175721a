"""Calibration sets whose truth is known: labels drawn from softmax(z / T)."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import softmax

Set = tuple[NDArray[np.float64], NDArray[np.intp]]


def draw(probs: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.intp]:
    """One label a row, by inverting the cumulative sum."""
    u = rng.random((len(probs), 1)) * probs.sum(axis=1, keepdims=True)
    return np.minimum((probs.cumsum(axis=1) < u).sum(axis=1), probs.shape[1] - 1)


@pytest.fixture
def simulate() -> Callable[..., Set]:
    def simulate(n: int = 400, n_classes: int = 5, temperature: float = 1.5, seed: int = 0) -> Set:
        rng = np.random.default_rng(seed)
        logits = 3 * rng.normal(size=(n, n_classes))
        return logits, draw(softmax(logits / temperature, axis=1), rng)

    return simulate
