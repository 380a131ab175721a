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


@pytest.fixture
def dense_votes() -> Callable[..., NDArray[np.float64]]:
    """What votes are made of, written slowly: (n, C, 6) of z/T, ten, fifty, close, expected and the intercept."""

    def dense_votes(scores, neighbors, references, temperature, bandwidth, label_counts, expected_counts, own=None):
        n, n_classes = scores.shape
        remembered = np.zeros((len(references.labels), n_classes))
        np.put_along_axis(remembered, references.classes.astype(int), references.probs, axis=1)
        votes = np.zeros((4, n, n_classes))
        for i in range(n):
            found = zip(neighbors.indices[i][:50], neighbors.distances[i][:50], strict=True)
            for rank, (j, distance) in enumerate(found):
                weight = np.exp(-((distance / bandwidth) ** 2))
                votes[0, i, references.labels[j]] += weight * (rank < 10)
                votes[1, i, references.labels[j]] += weight
                votes[2, i, references.labels[j]] += weight**4
                votes[3, i] += weight * remembered[j]
        labelled, expected = np.tile(label_counts, (n, 1)), np.tile(expected_counts, (n, 1))
        if own is not None:  # the samples are these references: none has a share in its own intercept
            labelled[np.arange(n), references.labels[own]] -= 1
            expected -= remembered[own]
        intercept = np.log((labelled + 20) / (expected + 20))
        return np.stack([scores / temperature, *np.log(votes + 0.2), intercept], axis=2)

    return dense_votes
