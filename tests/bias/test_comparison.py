import warnings

import numpy as np
import pytest

from proxcal._validation import ProxcalWarning
from proxcal.bias import bias_test


def simulate(n, bias, seed=0, follows=0.4):
    """Confidence that follows proximity; where proximity is low, accuracy falls short of confidence by `bias`."""
    rng = np.random.default_rng(seed)
    proximity = rng.random(n)
    confidence = 0.35 + 0.6 * (follows * proximity + (1 - follows) * rng.random(n))
    return confidence, rng.random(n) < confidence - bias * (1 - proximity), proximity


@pytest.fixture
def biased():
    return simulate(5000, bias=0.3)


@pytest.mark.parametrize("matching", ["one-to-one", "paper"])
def test_bias_is_found(biased, matching):
    result = bias_test(*biased, matching=matching)
    assert 0.15 < result.bias_index < 0.3
    assert result.p_value < 1e-4
    assert result.interval[0] < result.bias_index < result.interval[1]
    assert result.interval[0] > 0


def test_no_bias_is_not_found():
    result = bias_test(*simulate(5000, bias=0))
    assert result.p_value > 0.05
    assert result.interval[0] < 0 < result.interval[1]


def test_one_in_twenty_unbiased_models_is_rejected_though_confidence_follows_proximity():
    p_values = [bias_test(*simulate(2000, bias=0, seed=seed), n_resamples=1).p_value for seed in range(400)]
    assert 0.025 < np.mean(np.array(p_values) < 0.05) < 0.075


@pytest.mark.parametrize("matching", ["one-to-one", "paper"])
def test_result_describes_its_pairs(biased, matching):
    confidence, correct, _ = biased
    result = bias_test(*biased, matching=matching)
    low, high = result.low, result.high
    assert result.n_pairs == len(low) == len(high)
    assert result.n_distinct_low == len(set(low.tolist()))
    assert result.n_distinct_high == len(set(high.tolist()))
    assert result.accuracy_low == pytest.approx(correct[low].mean())
    assert result.accuracy_high == pytest.approx(correct[high].mean())
    assert result.confidence_low == pytest.approx(confidence[low].mean())
    assert result.confidence_high == pytest.approx(confidence[high].mean())
    assert result.bias_index == pytest.approx(correct[high].mean() - correct[low].mean())
    gaps = (np.mean(correct[side] - confidence[side]) for side in (high, low))
    assert result.adjusted_index == pytest.approx(next(gaps) - next(gaps))


def test_pairs_come_from_the_lowest_and_the_highest_group(biased):
    proximity = biased[2]
    result = bias_test(*biased)
    ranked = np.sort(proximity)
    assert proximity[result.low].max() <= ranked[999]
    assert proximity[result.high].min() >= ranked[-1000]


def test_one_to_one_uses_no_sample_twice(biased):
    result = bias_test(*biased)
    assert result.n_distinct_low == result.n_distinct_high == result.n_pairs


def test_the_papers_matching_reuses_samples(biased):
    result = bias_test(*biased, matching="paper")
    assert max(result.n_distinct_low, result.n_distinct_high) < result.n_pairs


def test_each_matching_has_its_own_default_test(biased):
    assert bias_test(*biased).test == "mcnemar"
    assert bias_test(*biased, matching="paper").test == "ranksum"


def test_bias_against_low_proximity_is_the_alternative_greater(biased):
    assert bias_test(*biased, alternative="greater").p_value < 1e-4
    assert bias_test(*biased, alternative="less").p_value > 0.99


def test_overlap_is_one_for_equal_distributions_and_falls_as_confidence_follows_proximity():
    none, some, much = (bias_test(*simulate(20_000, 0, follows=f)).overlap for f in (0, 0.2, 0.4))
    assert 0.9 < none <= 1
    assert none > some > much


@pytest.mark.parametrize("matching", ["one-to-one", "paper"])
def test_result_repeats_itself_for_a_random_state(biased, matching):
    first, second = (bias_test(*biased, matching=matching, random_state=7) for _ in range(2))
    assert (first.p_value, first.interval) == (second.p_value, second.interval)
    np.testing.assert_array_equal(first.low, second.low)


def test_sorting_samples_by_outcome_changes_nothing_where_confidence_is_tied():
    rng = np.random.default_rng(0)
    correct = np.sort(rng.random(3000) < 0.7)
    assert bias_test(np.full(3000, 0.7), correct, rng.random(3000)).p_value > 0.01


def test_thin_overlap_falls_back_to_three_groups_and_says_so():
    samples = simulate(3000, bias=0, follows=0.56)
    with pytest.warns(ProxcalWarning, match=r"highest of 5 proximity groups overlaps by \d+% .* comparing 3 groups"):
        assert bias_test(*samples).n_groups == 3


def test_no_overlap_is_refused():
    proximity = np.linspace(0, 1, 300)
    with (
        pytest.warns(ProxcalWarning, match="comparing 3 groups"),
        pytest.raises(
            ValueError, match=r"overlaps by 0% \(0 pairs\): whether they are equally often right .* cannot be"
        ),
    ):
        bias_test(proximity, np.ones(300), proximity)


@pytest.mark.parametrize("right", [True, False])
@pytest.mark.parametrize("matching", ["one-to-one", "paper"])
def test_outcomes_that_are_all_alike_give_no_bias_and_a_warning(right, matching):
    confidence, _, proximity = simulate(1000, bias=0)
    with pytest.warns(ProxcalWarning, match=f"correct is {right} for every sample compared"):
        result = bias_test(confidence, np.full(1000, right), proximity, matching=matching)
    assert result.bias_index == 0
    assert result.p_value == 1
    assert np.isfinite(result.interval).all()


def test_thirty_samples_give_a_result_with_a_warning():
    with (
        pytest.warns(ProxcalWarning, match="comparing 3 groups"),
        pytest.warns(ProxcalWarning, match="only a large bias can be told from chance"),
    ):
        result = bias_test(*simulate(30, bias=0, follows=0.1))
    assert result.n_groups == 3
    assert np.isfinite([result.bias_index, result.adjusted_index, result.p_value, *result.interval]).all()


def test_one_proximity_is_refused():
    with pytest.raises(ValueError, match=r"proximity is 0\.5 for 100% of the samples"):
        bias_test(np.full(50, 0.8), np.ones(50), np.full(50, 0.5))


@pytest.mark.parametrize("n", [5, 7])
def test_a_handful_of_samples_is_defined(n):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProxcalWarning)
        result = bias_test(np.full(n, 0.8), np.arange(n) % 2, np.arange(n))
    assert np.isfinite([result.bias_index, result.p_value, *result.interval]).all()


@pytest.mark.parametrize(
    ("argument", "value", "message"),
    [
        ("matching", "greedy", "matching must be one of 'one-to-one', 'paper'; got 'greedy'"),
        ("test", "t", "test must be one of 'mcnemar', 'ranksum'; got 't'"),
        ("alternative", "both", "alternative must be one of 'two-sided', 'greater', 'less'; got 'both'"),
        ("caliper", 0, r"caliper must be a number in \(0, 1\]; got 0"),
        ("n_groups", 1, "n_groups must be a whole number of at least 2; got 1"),
        ("n_resamples", 0, "n_resamples must be a whole number of at least 1; got 0"),
    ],
)
def test_an_argument_out_of_range_is_refused(biased, argument, value, message):
    with pytest.raises(ValueError, match=message):
        bias_test(*biased, **{argument: value})


def test_a_result_prints_in_a_few_lines(biased):
    assert len(repr(bias_test(*biased))) < 600
