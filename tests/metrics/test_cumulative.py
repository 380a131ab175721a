import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest, norm

from proxcal import ProxcalWarning
from proxcal.metrics import cumulative_difference
from proxcal.metrics.cumulative import maximum_exceeds, range_exceeds


def samples(n=400, seed=0, bias=0.0):
    """Where proximity is low, accuracy falls short of confidence by `bias`."""
    rng = np.random.default_rng(seed)
    confidence, proximity = rng.uniform(0.6, 1, n), rng.random(n)
    return confidence, rng.random(n) < confidence - bias * (proximity < 0.3), proximity


def test_differences_add_up_in_order_of_proximity():
    confidence, correct, proximity = samples()
    found = cumulative_difference(confidence, correct, proximity)
    total, expected = 0.0, [0.0]
    for i in sorted(range(400), key=lambda i: proximity[i]):
        total += correct[i] - confidence[i]
        expected.append(total / 400)
    np.testing.assert_allclose(found.difference, expected, atol=1e-12)
    np.testing.assert_allclose(found.share, np.arange(401) / 400)
    np.testing.assert_array_equal(found.proximity[1:], np.sort(proximity))
    assert found.kuiper == pytest.approx(max(expected) - min(expected))
    assert found.kolmogorov_smirnov == pytest.approx(max(map(abs, expected)))
    assert found.scale == pytest.approx(np.sqrt(sum(p * (1 - p) for p in confidence)) / 400)


def test_the_slope_is_accuracy_less_confidence():
    found = cumulative_difference(*samples(20_000, bias=0.2))
    sparse = found.share < 0.3
    assert np.polyfit(found.share[sparse], found.difference[sparse], 1)[0] == pytest.approx(-0.2, abs=0.02)
    assert np.polyfit(found.share[~sparse], found.difference[~sparse], 1)[0] == pytest.approx(0, abs=0.02)


def test_samples_of_equal_proximity_are_one_step():
    found = cumulative_difference([0.5, 0.6, 0.7], [1, 0, 1], [0.2, 0.9, 0.2])
    np.testing.assert_allclose(found.share, [0, 2 / 3, 1])
    np.testing.assert_allclose(found.difference, [0, 0.8 / 3, 0.2 / 3])
    np.testing.assert_allclose(found.proximity, [0.2, 0.2, 0.9])


@given(st.integers(0, 2**32 - 1))
def test_the_order_of_samples_does_not_matter_ties_or_no_ties(seed):
    rng = np.random.default_rng(seed)
    confidence, proximity, order = rng.random(50), rng.integers(0, 20, 50) / 20, rng.permutation(50)
    correct = rng.random(50) < confidence
    one = cumulative_difference(confidence, correct, proximity)
    other = cumulative_difference(confidence[order], correct[order], proximity[order])
    np.testing.assert_allclose(one.difference, other.difference, atol=1e-12)
    assert one.kuiper_p_value == pytest.approx(other.kuiper_p_value, abs=1e-9)


@pytest.fixture(scope="module")
def walks():
    """Brownian motions over unit time, so finely stepped that their extremes are the motion's but for 0.5826 √dt."""
    steps = np.random.default_rng(0).standard_normal((4000, 2000)) / np.sqrt(2000)
    return np.cumsum(steps, axis=1)


@pytest.mark.parametrize("x", [0.6, 0.9, 1.1, 1.5, 2.2])
def test_maximum_is_that_of_brownian_motion(walks, x):
    missed = 0.5826 / np.sqrt(2000)
    share = np.mean(np.maximum(walks.max(axis=1), -walks.min(axis=1)) + missed > x)
    assert maximum_exceeds(x) == pytest.approx(share, abs=0.03)


@pytest.mark.parametrize("x", [0.9, 1.2, 1.6, 2.2])
def test_range_is_that_of_brownian_motion(walks, x):
    missed = 2 * 0.5826 / np.sqrt(2000)
    ranges = np.maximum(walks.max(axis=1), 0) - np.minimum(walks.min(axis=1), 0)
    assert range_exceeds(x) == pytest.approx(np.mean(ranges + missed > x), abs=0.03)


@pytest.mark.parametrize("strays_beyond", [maximum_exceeds, range_exceeds])
def test_both_series_agree_where_they_meet(strays_beyond):
    assert strays_beyond(1 - 1e-12) == pytest.approx(strays_beyond(1.0), abs=1e-10)


@pytest.mark.parametrize("strays_beyond", [maximum_exceeds, range_exceeds])
def test_a_tail_falls_from_one_to_nothing(strays_beyond):
    tail = [strays_beyond(x) for x in np.concatenate([[1e-100, 1e-3, 0.05], np.linspace(0.1, 9, 300)])]
    assert tail[0] == pytest.approx(1)
    assert np.all(np.diff(tail) <= 1e-12)
    assert 0 <= tail[-1] < 1e-15


def test_the_tail_of_the_maximum_is_twice_that_of_either_side_far_out():
    assert maximum_exceeds(4.0) == pytest.approx(4 * norm.sf(4.0), rel=1e-6)


@pytest.mark.parametrize("statistic", ["kuiper_p_value", "kolmogorov_smirnov_p_value"])
def test_p_values_of_calibrated_models_are_spread_evenly(statistic):
    p_values = [getattr(cumulative_difference(*samples(4000, seed=seed)), statistic) for seed in range(400)]
    assert kstest(p_values, "uniform").pvalue > 0.001
    assert 0.02 < np.mean(np.array(p_values) < 0.05) < 0.08


def test_a_biased_model_is_found():
    found = cumulative_difference(*samples(4000, bias=0.15))
    assert found.kuiper_p_value < 1e-4
    assert found.kolmogorov_smirnov_p_value < 1e-4


@pytest.mark.parametrize(("right", "p_value"), [(1, 1.0), (0, 0.0)])
def test_certainty_is_refuted_by_mistakes_alone(right, p_value):
    found = cumulative_difference(np.ones(30), np.full(30, right), np.arange(30))
    assert found.kuiper_p_value == found.kolmogorov_smirnov_p_value == p_value


def test_one_proximity_is_one_step_and_warned_of():
    with pytest.warns(
        ProxcalWarning, match=r"proximity is 0\.5 for all samples: where along it .* cannot be concluded"
    ):
        found = cumulative_difference(np.full(30, 0.8), np.arange(30) < 21, np.full(30, 0.5))
    np.testing.assert_allclose(found.difference, [0, -0.1])


@pytest.mark.filterwarnings("ignore:proximity is:proxcal.ProxcalWarning")
@given(
    st.lists(st.tuples(st.floats(0, 1, width=16), st.booleans(), st.floats(-5, 0, width=16)), min_size=1, max_size=40)
)
@settings(max_examples=50, deadline=None)
def test_any_samples_give_finite_numbers_and_p_values_in_the_unit_interval(triples):
    found = cumulative_difference(*map(np.array, zip(*triples, strict=True)))
    assert np.isfinite([found.scale, found.kuiper, found.kolmogorov_smirnov, *found.difference]).all()
    assert 0 <= found.kuiper_p_value <= 1
    assert 0 <= found.kolmogorov_smirnov_p_value <= 1
    assert found.kolmogorov_smirnov <= found.kuiper + 1e-12
