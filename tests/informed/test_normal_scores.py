import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import norm, rankdata

from proxcal.informed._normal_scores import MAX_KNOTS, NormalScores

VALUES = arrays(np.float64, st.integers(1, 60), elements=st.floats(-1e6, 1e6, width=32))


def slow_scores(values):
    return norm.ppf((rankdata(values, method="average") - 0.5) / len(values))


@given(VALUES)
@settings(max_examples=50)
def test_its_own_values_get_the_normal_score_of_their_middle_rank(values):
    np.testing.assert_allclose(NormalScores().fit_transform(values), slow_scores(values), atol=1e-12)


@given(VALUES, arrays(np.float64, 20, elements=st.floats(-2e6, 2e6)))
@settings(max_examples=50)
def test_scores_never_fall_as_values_rise(values, queries):
    scores = NormalScores().fit(values).transform(np.sort(queries))
    assert np.all(np.diff(scores) >= -1e-12)


@given(VALUES, arrays(np.float64, 20, elements=st.floats(-1e300, 1e300)))
@settings(max_examples=50)
def test_scores_stay_within_those_of_the_ends(values, queries):
    scores = NormalScores().fit(values)
    within = scores.transform(queries)
    assert np.all((within >= scores.scores_[0]) & (within <= scores.scores_[-1]))


@pytest.mark.parametrize("n", [1, 2, 100])
def test_equal_values_score_zero_and_so_does_every_other(n):
    scores = NormalScores().fit(np.full(n, 0.7))
    np.testing.assert_array_equal(scores.transform(np.array([0.0, 0.7, 9.0])), 0.0)


def test_between_two_values_the_score_is_on_their_straight_line():
    scores = NormalScores().fit(np.array([0.0, 1.0, 2.0, 4.0]))
    assert scores.transform(np.array([3.0]))[0] == pytest.approx(norm.ppf([5 / 8, 7 / 8]).mean())


@pytest.mark.parametrize("scale", [np.exp, np.log1p, np.cbrt])
def test_scores_do_not_know_the_scale_of_the_values(scale, rng):
    values = rng.exponential(size=500)
    np.testing.assert_array_equal(NormalScores().fit_transform(values), NormalScores().fit_transform(scale(values)))


def test_many_values_are_kept_in_few_knots(rng):
    assert len(NormalScores().fit(rng.normal(size=100_000)).values_) <= MAX_KNOTS


def test_leaving_out_knots_moves_no_score_by_more_than_one_step(rng):
    values = np.concatenate([rng.beta(5, 1, 30_000), np.ones(10_000)])
    expected = slow_scores(values)
    step = np.ptp(expected) / (MAX_KNOTS // 2)
    np.testing.assert_allclose(NormalScores().fit_transform(values), expected, atol=step)


def test_a_gap_smaller_than_any_normal_number_stays_finite():
    scores = NormalScores().fit(np.array([0.0, 1e-310]))
    assert np.isfinite(scores.transform(np.array([0.0, 3e-311, 1e-310]))).all()


def test_scores_survive_their_state_bit_for_bit(rng):
    scores = NormalScores().fit(rng.normal(size=5000))
    again = NormalScores.from_state(scores.get_params(deep=False), scores.state_arrays())
    queries = rng.normal(size=100)
    np.testing.assert_array_equal(again.transform(queries), scores.transform(queries))


@pytest.fixture
def rng():
    return np.random.default_rng(0)
