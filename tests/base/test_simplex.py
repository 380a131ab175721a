import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxcal.base import _simplex
from proxcal.base._simplex import least_quadratic, most_likely_mixture

GRID = np.array([(i, j, 100 - i - j) for i in range(101) for j in range(101 - i)]) / 100


def quadratic(w, g, h):
    return np.einsum("...i,ij,...j", w, g, w) / 2 - w @ h


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 3))
def test_no_point_of_a_grid_beats_the_least_quadratic(seed, rank):
    rng = np.random.default_rng(seed)
    factor, h = rng.normal(size=(3, rank)), rng.normal(size=3)
    g = factor @ factor.T
    weights = least_quadratic(g, h)
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1, abs=1e-12)
    assert quadratic(weights, g, h) <= quadratic(GRID, g, h).min() + 1e-9


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_no_point_of_a_grid_beats_the_most_likely_mixture(seed, twins):
    rng = np.random.default_rng(seed)
    q = rng.random((3, 40)) ** 3
    if twins:
        q[1] = q[0]
    weights, loss = most_likely_mixture(q)
    assert weights.min() >= 0
    assert loss == pytest.approx(-np.log(weights @ q).mean())
    assert loss <= -np.log(GRID @ q).mean(axis=1).min() + 1e-9
    assert (q / (weights @ q)).mean(axis=1).max() <= 1 + 1e-5  # the condition for an optimum of a mixture


def test_a_component_that_explains_nothing_gets_no_weight():
    q = np.stack([np.full(20, 0.9), np.zeros(20), np.full(20, 1e-3)])
    np.testing.assert_allclose(most_likely_mixture(q)[0], [1, 0, 0], atol=1e-9)


def test_failure_to_converge_raises(monkeypatch):
    monkeypatch.setattr(_simplex, "_MAX_STEPS", 1)
    with pytest.raises(RuntimeError, match="did not converge in 1 steps"):
        most_likely_mixture(np.random.default_rng(0).random((3, 20)))
