"""What is measured on: samples simulated to look like a network's over many classes, in any number and width.

A sample's embedding (64 numbers) is its class's unit vector times a strength that differs by sample, plus noise; its
features are the embedding seen through random directions and a last activation; its logits are the products of a
noisier embedding with all class vectors, a little too large, so that neighbours know more than the scores and ProCal
has something to correct. The same workload always gives the same samples.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from proxcal._validation import Array, Bools, Floats, Ints

_EMBEDDING = 64
_BLUR = 0.7  # of the embedding that the scores are made from, beyond that of the features
_LEAK = 0.1  # of the last activation below 0


class Workload(NamedTuple):
    """`n` calibration samples and as many others, to which what was fitted is applied."""

    n: int
    n_columns: int
    n_classes: int

    def __str__(self) -> str:
        return f"{self.n:,} + {self.n:,} samples, {self.n_columns:,} features, {self.n_classes:,} classes"


class Samples(NamedTuple):
    logits: Array
    labels: Ints
    features: Array


class Outcomes(NamedTuple):
    """What the informed calibrators and the metrics are given."""

    confidence: Floats
    proximity: Floats
    correct: Bools


def simulated(workload: Workload, *, with_features: bool = True) -> tuple[Samples, Samples]:
    """Calibration and other samples, arrays in float32; without features these have no columns."""
    rng = np.random.default_rng(0)
    n, (_, n_columns, n_classes) = 2 * workload.n, workload
    vectors = rng.normal(size=(n_classes, _EMBEDDING)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    labels = rng.permutation(n) % n_classes
    strength = rng.lognormal(1.5, 0.4, size=(n, 1)).astype(np.float32)
    embedding = strength * vectors[labels] + rng.normal(size=(n, _EMBEDDING)).astype(np.float32)
    features = _seen(embedding, n_columns if with_features else 0, rng)
    embedding += _BLUR * rng.standard_normal(size=embedding.shape, dtype=np.float32)
    return _halves(4 * embedding @ vectors.T, labels, features)


def _seen(embedding: Array, n_columns: int, rng: np.random.Generator) -> Array:
    directions = rng.normal(size=(_EMBEDDING, n_columns)).astype(np.float32) / 8
    features = embedding @ directions
    features += 0.3 * rng.standard_normal(size=features.shape, dtype=np.float32)
    seen: Array = np.maximum(features, _LEAK * features, out=features)
    return seen


def _halves(*arrays: Array) -> tuple[Samples, Samples]:
    n = len(arrays[0]) // 2
    return Samples(*(array[:n] for array in arrays)), Samples(*(array[n:] for array in arrays))


def simulated_outcomes(n: int, seed: int = 0) -> Outcomes:
    """Accuracy 3/4, overconfident where proximity is low, a twentieth of the confidences exactly 1."""
    rng = np.random.default_rng(seed)
    proximity = rng.beta(4, 6, n)
    odds = rng.normal(1.5, 1.5, n)
    confidence = np.where(rng.random(n) < 0.05, 1.0, np.maximum(expit(odds), 0.05))
    return Outcomes(confidence, proximity, rng.random(n) < expit(odds + 4 * (proximity - 0.4)))
