import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import linear_sum_assignment

from proxcal.bias.matching import closest_pairs, paper_pairs

GROUP = arrays(np.float64, st.integers(0, 12), elements=st.floats(0, 1, width=16))
CALIPER = st.sampled_from([0.01, 0.05, 0.3, 1.0])


def rng():
    return np.random.default_rng(0)


def phi(confidence):
    return np.arcsin(np.sqrt(confidence))


@given(GROUP, GROUP, CALIPER)
def test_closest_pairs_are_the_optimal_assignment(low, high, caliper):
    worth = np.maximum(caliper - np.abs(phi(low)[:, None] - phi(high)), 0)
    expected = worth[linear_sum_assignment(worth, maximize=True)].sum()
    pairs_low, pairs_high = closest_pairs(low, high, caliper, rng())
    assert np.sum(caliper - np.abs(phi(low[pairs_low]) - phi(high[pairs_high]))) == pytest.approx(expected, abs=1e-12)


@given(GROUP, GROUP, CALIPER)
def test_closest_pairs_use_no_sample_twice(low, high, caliper):
    pairs_low, pairs_high = closest_pairs(low, high, caliper, rng())
    assert len(pairs_low) == len(pairs_high) == len(np.unique(pairs_low)) == len(np.unique(pairs_high))


@given(GROUP, GROUP, CALIPER)
def test_closest_pairs_are_within_the_caliper_of_confidence(low, high, caliper):
    pairs_low, pairs_high = closest_pairs(low, high, caliper, rng())
    assert np.all(np.abs(low[pairs_low] - high[pairs_high]) <= caliper + 1e-12)


def test_closest_pairs_of_equal_groups_are_all_of_them():
    confidence = rng().random(200)
    low, high = closest_pairs(confidence, confidence[::-1], 0.05, rng())
    np.testing.assert_array_equal(low, 199 - high)


def test_closest_pairs_leave_no_drift_where_confidence_differs_between_the_groups():
    low, high = rng().beta(5, 2, 3000), rng().beta(9, 1, 3000)
    pairs_low, pairs_high = closest_pairs(low, high, 0.05, rng())
    assert len(pairs_low) > 1000
    assert abs(np.mean(high[pairs_high] - low[pairs_low])) < 0.001


def test_which_of_equal_confidences_are_matched_is_chance_not_their_order():
    low, _ = closest_pairs(np.ones(1000), np.ones(100), 0.05, rng())
    assert len(low) == 100
    assert 300 < low.mean() < 700


def test_paper_pairs_hold_the_nearest_of_each_sample_on_the_other_side():
    low, high = rng().random(40), rng().random(60)
    nearest_high = np.abs(low[:, None] - high).argmin(axis=1)
    nearest_low = np.abs(high[:, None] - low).argmin(axis=1)
    expected = {*enumerate(nearest_high.tolist()), *zip(nearest_low.tolist(), range(60), strict=True)}
    pairs_low, pairs_high = paper_pairs(low, high, 1.0, rng())
    assert len(pairs_low) == 100
    assert set(zip(pairs_low.tolist(), pairs_high.tolist(), strict=True)) == expected


def test_paper_pairs_further_apart_than_the_caliper_are_discarded():
    low, high = np.array([0.1, 0.5]), np.array([0.52, 0.9])
    pairs_low, pairs_high = paper_pairs(low, high, 0.05, rng())
    assert set(zip(pairs_low.tolist(), pairs_high.tolist(), strict=True)) == {(1, 0)}


def test_paper_pairs_draw_at_most_10_000_from_a_side():
    confidence = rng().random(12_000)
    assert len(paper_pairs(confidence, confidence, 0.05, rng())[0]) == 20_000
