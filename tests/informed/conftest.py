import numpy as np
import pytest


class Biased:
    """Samples whose confidence is too high where proximity is low, and wrong by something that evidence tells of."""

    def __init__(self, n, seed=0, strength=1.0):
        rng = np.random.default_rng(seed)
        hidden = strength * rng.normal(size=n)
        self.proximity = rng.random(n)
        self.confidence = rng.beta(5, 2, n)
        odds = np.log(self.confidence / (1 - self.confidence)) + strength * 2 * (self.proximity - 0.5) + hidden
        self.chance = 1 / (1 + np.exp(-odds))
        self.correct = rng.random(n) < self.chance
        self.evidence = hidden[:, None] + rng.normal(size=(n, 3))


@pytest.fixture
def biased():
    return Biased
