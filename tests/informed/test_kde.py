import numpy as np
import pytest

from proxcal.informed._kde import MAX_NODES, Grid, log_kernel_sums

BANDWIDTH = np.array([0.3, 0.7])


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def slow_log_sums(points, samples, weights, bandwidth):
    sums = np.empty((len(points), weights.shape[1]))
    for i, point in enumerate(points):
        exponent = -0.5 * np.sum(((point - samples) / bandwidth) ** 2, axis=1).astype(np.longdouble)
        sums[i] = np.log(np.sum(np.exp(exponent)[:, None] * weights, axis=0))
    return sums


def test_exact_sums_are_the_formula(rng):
    points, samples, weights = rng.normal(size=(50, 2)), rng.normal(size=(80, 2)), rng.random((80, 3))
    expected = slow_log_sums(points, samples, weights, BANDWIDTH)
    np.testing.assert_allclose(log_kernel_sums(points, samples, weights, BANDWIDTH), expected, rtol=1e-12)


def test_exact_sums_are_the_formula_where_float64_underflows(rng):
    points, samples = np.full((1, 2), 30.0), rng.normal(size=(80, 2))
    expected = slow_log_sums(points, samples, np.ones((80, 1)), BANDWIDTH)
    assert expected < -2000
    np.testing.assert_allclose(log_kernel_sums(points, samples, np.ones((80, 1)), BANDWIDTH), expected, rtol=1e-12)


def test_exact_sums_are_finite_however_far_the_point(rng):
    points, samples = np.array([[1e300, -1e300]]), rng.normal(size=(80, 2))
    assert np.isfinite(log_kernel_sums(points, samples, np.ones((80, 1)), BANDWIDTH)).all()


def test_sums_at_the_nodes_are_the_exact_ones_to_a_part_in_a_thousand(rng):
    samples, weights = rng.normal(size=(200, 2)), rng.random((200, 2))
    grid = Grid.around(samples, BANDWIDTH[None])
    nodes = grid.origin + grid.spacing * np.argwhere(np.ones(grid.shape))
    found = grid.log_kernel_sums(samples, weights, BANDWIDTH).reshape(-1, 2)
    exact = log_kernel_sums(nodes, samples, weights, BANDWIDTH)
    assert np.abs(found - exact)[exact > -5].max() < 1e-3


def test_cubic_surfaces_are_interpolated_without_error(rng):
    grid = Grid(np.array([-1.0, 2.0]), np.array([0.25, 0.5]), (12, 9))
    x, y = np.moveaxis(grid.origin + grid.spacing * np.stack(np.indices(grid.shape), axis=-1), -1, 0)
    points = rng.uniform([-1, 2], [1.75, 6], (100, 2))
    found = grid.interpolate((x**3 - x) * (1 + y**3), points)
    expected = (points[:, 0] ** 3 - points[:, 0]) * (1 + points[:, 1] ** 3)
    np.testing.assert_allclose(found, expected, atol=1e-10)


def test_a_point_outside_the_grid_or_beside_an_unknown_node_is_unknown():
    grid = Grid(np.zeros(2), np.ones(2), (8, 8))
    surface = np.zeros(grid.shape)
    surface[6, 6] = np.nan
    points = np.array([[1.5, 1.5], [-0.1, 1.5], [1.5, 7.1], [5.5, 5.5]])
    np.testing.assert_array_equal(grid.interpolate(surface, points), [0, np.nan, np.nan, np.nan])


def test_a_bandwidth_too_small_for_the_range_has_no_grid():
    samples = np.array([[0.0, 0.0], [1.0, 1.0]])
    assert Grid.around(samples, np.array([[1 / MAX_NODES, 1.0]])) is None
