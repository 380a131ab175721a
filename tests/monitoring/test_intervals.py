"""Intervals of a window, against enumeration and simulated windows without drift."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom, rankdata

from proxcal.monitoring.intervals import (
    gap_interval,
    percentile_interval,
    poisson_binomial,
    share_below_interval,
    spent,
)

RNG_SEED, N_WINDOWS = 0, 4000


def test_chances_of_each_number_of_successes_are_those_of_all_outcomes_added_up():
    chances = np.array([0.0, 0.1, 0.5, 0.7, 0.93, 1.0, 0.3])
    expected = np.zeros(8)
    for outcome in product([0, 1], repeat=7):
        expected[sum(outcome)] += np.prod(np.where(outcome, chances, 1 - chances))
    np.testing.assert_allclose(poisson_binomial(chances), expected, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("n", [1, 2, 3, 257])
def test_equal_chances_are_binomial_far_into_the_tails(n):
    np.testing.assert_allclose(poisson_binomial(np.full(n, 0.2)), binom.pmf(np.arange(n + 1), n, 0.2), rtol=1e-9)


def test_what_all_looks_spend_adds_up_to_what_there_is():
    assert sum(spent(0.05, look) for look in range(1, 100_000)) == pytest.approx(0.05, rel=1e-4)


@pytest.mark.parametrize(("n", "m"), [(50, 200), (200, 50), (5, 1000)])
def test_the_mean_percentile_leaves_its_interval_as_often_as_stated(n, m):
    rng = np.random.default_rng(RNG_SEED)
    both = rng.random((N_WINDOWS, n + m))
    ranks = rankdata(both, axis=1)[:, :n].sum(axis=1) - n * (n + 1) / 2  # normal samples below, over the window
    low, high = percentile_interval(n, m, 0.1)
    outside = np.mean((ranks / (n * m) < low) | (ranks / (n * m) > high))
    assert outside == pytest.approx(0.1, abs=0.02)


@pytest.mark.parametrize(("n", "m", "k"), [(100, 400, 20), (400, 100, 5), (30, 100, 50)])
def test_the_share_below_leaves_its_interval_at_most_as_often_as_stated(n, m, k):
    rng = np.random.default_rng(RNG_SEED)
    limit = np.sort(rng.random((N_WINDOWS, m)), axis=1)[:, k - 1]
    share = np.mean(rng.random((N_WINDOWS, n)) < limit[:, None], axis=1)
    low, high = share_below_interval(n, m, k, 0.2)
    assert 0.1 < np.mean((share < low) | (share > high)) < 0.21


@pytest.mark.parametrize("off", [-0.02, 0.0, 0.02])
def test_the_gap_leaves_its_interval_at_most_as_often_as_stated_where_confidence_is_off_by_the_tolerance(off):
    rng = np.random.default_rng(RNG_SEED)
    confidence = rng.uniform(0.3, 0.95, 300)
    correct = rng.random((N_WINDOWS, 300)) < confidence + off
    gap = (correct.sum(axis=1) - confidence.sum()) / 300
    low, high = gap_interval(confidence, abs(off), 0.2)
    assert 0.04 < np.mean((gap < low) | (gap > high)) < 0.21


def test_a_gap_interval_ends_at_numbers_of_right_predictions_that_may_occur():
    confidence = np.array([0.2, 0.9, 0.9])
    assert gap_interval(confidence, 0.0, 1e-9) == pytest.approx(((0 - 2) / 3, (3 - 2) / 3))


def test_certain_confidence_leaves_nothing_to_chance():
    assert gap_interval(np.ones(20), 0.0, 0.01) == (0, 0)
