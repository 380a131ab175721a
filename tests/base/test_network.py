import numpy as np
import pytest
from scipy.optimize import approx_fprime

from proxcal.base import _network as network


@pytest.fixture
def inputs():
    return np.random.default_rng(1).normal(size=(50, 7))


@pytest.fixture
def parameters():
    return np.random.default_rng(2).normal(size=network.n_parameters(7))


def test_the_start_is_the_zero_function(inputs):
    parameters = network.start(7, np.random.default_rng(0))
    assert parameters.shape == (network.n_parameters(7),)
    np.testing.assert_array_equal(network.outputs(inputs, parameters), 0)


def test_both_ways_to_the_outputs_agree(inputs, parameters):
    by_blas, _ = network.outputs_and_pullback(inputs, parameters)
    np.testing.assert_allclose(network.outputs(inputs, parameters), by_blas, rtol=1e-12)


def test_the_pullback_is_the_gradient(inputs, parameters):
    weights = np.linspace(-1, 1, 50)
    _, pullback = network.outputs_and_pullback(inputs, parameters)
    numeric = approx_fprime(parameters, lambda p: weights @ network.outputs(inputs, p), 1e-7)
    np.testing.assert_allclose(pullback(weights), numeric, atol=1e-5)


def test_a_rows_output_does_not_depend_on_the_rows_around_it(inputs, parameters):
    whole = network.outputs(inputs, parameters)
    np.testing.assert_array_equal(whole[4:5], network.outputs(inputs[4:5], parameters))
