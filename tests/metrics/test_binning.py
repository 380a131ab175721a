import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from proxcal.metrics.binning import equal_count, equal_width, equal_width_edges, grid, nested, stable_argsort, tabulate

UNIT = st.floats(0, 1, width=16)  # few distinct values: ties are common


@pytest.mark.parametrize("n_bins", [1, 2, 15, 49, 100])
def test_equal_width_puts_each_edge_into_the_bin_it_opens(n_bins):
    edges = equal_width_edges(n_bins)
    assert equal_width(edges, n_bins).tolist() == [*range(n_bins), n_bins - 1]


def test_equal_width_counts_a_value_of_exactly_one_in_the_last_bin():
    assert equal_width(np.array([1.0]), 15).tolist() == [14]


@pytest.mark.parametrize("n", [1, 14, 15, 16, 1000])
def test_equal_count_sizes_differ_by_at_most_one(n):
    sizes = np.bincount(equal_count(np.zeros(n), 15), minlength=15)
    assert sizes.max() - sizes.min() <= 1


@given(arrays(np.float64, st.integers(1, 60), elements=UNIT))
def test_equal_count_never_puts_a_larger_value_into_a_lower_bin(values):
    bins = equal_count(values, 7)
    assert np.all(np.diff(bins[np.argsort(values, kind="stable")]) >= 0)


def test_equal_count_keeps_ties_in_their_order_of_arrival():
    assert equal_count(np.full(6, 0.5), 3).tolist() == [0, 0, 1, 1, 2, 2]


@given(arrays(np.float64, st.integers(1, 60), elements=UNIT))
def test_stable_argsort_is_numpys_stable_sort(values):
    np.testing.assert_array_equal(stable_argsort(values), np.argsort(values, kind="stable"))


def test_stable_argsort_is_numpys_stable_sort_on_many_values():
    values = np.random.default_rng(0).random(5000).round(3)
    np.testing.assert_array_equal(stable_argsort(values), np.argsort(values, kind="stable"))


@pytest.mark.parametrize("n", [1, 5, 149, 150, 1000])
def test_nested_splits_each_outer_bin_evenly(n):
    rng = np.random.default_rng(n)
    sizes = np.bincount(nested(rng.random(n), rng.random(n), 15, 10), minlength=150).reshape(15, 10)
    assert np.all(sizes.max(axis=1) - sizes.min(axis=1) <= 1)


@given(arrays(np.float64, st.tuples(st.just(2), st.integers(1, 80)), elements=UNIT), st.integers(1, 300))
def test_nested_is_equal_counts_of_the_inner_values_in_each_outer_bin(values, n_outer):
    outer, inner = values
    bins, group = nested(outer, inner, n_outer, 4), equal_count(outer, n_outer)
    for g in range(n_outer):
        np.testing.assert_array_equal(bins[group == g], 4 * g + equal_count(inner[group == g], 4))


@given(arrays(np.float64, st.integers(1, 60), elements=UNIT), st.integers(1, 100))
def test_equal_count_is_the_share_of_the_rank(values, n_bins):
    rank = np.empty(len(values), dtype=int)
    rank[np.argsort(values, kind="stable")] = np.arange(len(values))
    np.testing.assert_array_equal(equal_count(values, n_bins), rank * n_bins // len(values))


@given(arrays(np.float64, st.integers(1, 60), elements=st.floats(0, 1)), st.integers(1, 100))
def test_equal_width_is_a_search_among_the_edges(values, n_bins):
    values = np.concatenate([values, np.nextafter(equal_width_edges(n_bins)[1:], 0)])
    expected = np.searchsorted(equal_width_edges(n_bins)[1:-1], values, side="right")
    np.testing.assert_array_equal(equal_width(values, n_bins), expected)


def test_nested_keeps_the_outer_bins():
    rng = np.random.default_rng(0)
    outer, inner = rng.random((2, 500))
    np.testing.assert_array_equal(nested(outer, inner, 15, 10) // 10, equal_count(outer, 15))


def test_grid_crosses_the_two_axes():
    rng = np.random.default_rng(0)
    outer, inner = rng.random((2, 500))
    bins = grid(outer, inner, 15, 10)
    np.testing.assert_array_equal(bins // 10, equal_width(outer, 15))
    np.testing.assert_array_equal(bins % 10, equal_count(inner, 10))


def test_table_holds_the_means_of_each_bin_and_zeros_where_it_is_empty():
    confidence = np.array([0.1, 0.3, 0.9])
    correct = np.array([False, True, True])
    table = tabulate(np.array([0, 0, 2]), 3, confidence, correct)
    assert table.count.tolist() == [2, 0, 1]
    np.testing.assert_allclose(table.confidence, [0.2, 0, 0.9])
    np.testing.assert_allclose(table.accuracy, [0.5, 0, 1])
    np.testing.assert_allclose(table.weight, [2 / 3, 0, 1 / 3])
    np.testing.assert_allclose(table.gap, [0.3, 0, 0.1])
