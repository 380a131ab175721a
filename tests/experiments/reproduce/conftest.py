from dataclasses import replace

import numpy as np
import pytest

from proxcal.bundle import Predictions
from proxcal.experiments.reproduce import PROTOCOLS
from proxcal.experiments.reproduce.protocols import STUDIED


def simulated(n, seed, shift=0.0):
    """Predictions over three classes, the surer the nearer to a class's middle, and too sure far from all of them."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(3, size=n)
    features = rng.normal(3 * np.eye(3, 4)[labels], 1 + shift)
    return Predictions(logits=3 * features[:, :3], labels=labels, features=features)


@pytest.fixture
def make_file(tmp_path):
    """Save simulated predictions under a name; their path."""

    def make(name, n=120, seed=0, shift=0.0):
        path = tmp_path / f"{name}.npz"
        simulated(n, seed, shift).save(path)
        return path

    return make


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Two methods in place of six where the paper's print does not name them."""
    for name, protocol in PROTOCOLS.items():
        if protocol.given_methods == STUDIED:
            monkeypatch.setitem(PROTOCOLS, name, replace(protocol, given_methods=("Conf", "MIR")))


@pytest.fixture
def sized(monkeypatch):
    """Let a protocol ask for fewer samples."""

    def resize(name, *n_samples, split=None):
        protocol = PROTOCOLS[name]
        needs = tuple(replace(need, n_samples=n) for need, n in zip(protocol.needs, n_samples, strict=True))
        monkeypatch.setitem(PROTOCOLS, name, replace(protocol, needs=needs, split=split))

    return resize
