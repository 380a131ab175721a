import numpy as np
import pytest
from scipy.stats import binom, norm
from statsmodels.stats.multitest import multipletests

from proxcal.bias import adjust_p_values
from proxcal.bias.significance import interval_of_pairs, interval_of_reused, mcnemar, rank_sum


def pairs(both, only_high, only_low, neither):
    """(high, low) outcomes of so many pairs of each kind."""
    counts = (both, only_high, only_low, neither)
    return np.repeat([True, True, False, False], counts), np.repeat([True, False, True, False], counts)


def samples(*counts):
    """The same pairs as (correct, high, low): outcomes of samples, and the indices of those in the pairs."""
    high, low = pairs(*counts)
    return np.concatenate([high, low]), np.arange(len(high)), len(high) + np.arange(len(high))


@pytest.mark.parametrize(("only_high", "only_low"), [(12, 3), (3, 12), (7, 7), (1, 0), (0, 0)])
def test_mcnemar_is_the_mid_p_of_the_discordant_pairs(only_high, only_low):
    n, k = only_high + only_low, min(only_high, only_low)
    expected = 2 * binom.cdf(k, n, 0.5) - binom.pmf(k, n, 0.5)
    assert mcnemar(*pairs(20, only_high, only_low, 5), "two-sided") == pytest.approx(expected)


def test_one_sided_mcnemar_p_values_sum_to_one():
    outcomes = pairs(20, 12, 3, 5)
    greater, less = (mcnemar(*outcomes, side) for side in ("greater", "less"))
    assert greater < 0.05
    assert greater + less == pytest.approx(1)


def test_rank_sum_on_two_values_is_the_pooled_test_of_two_shares():
    high, low = np.arange(100) < 80, np.arange(120) < 80
    pooled = 160 / 220
    z = (80 / 100 - 80 / 120) / np.sqrt(pooled * (1 - pooled) * (1 / 100 + 1 / 120) * 220 / 219)
    assert rank_sum(high, low, "two-sided") == pytest.approx(2 * norm.sf(z))
    assert rank_sum(high, low, "greater") == pytest.approx(norm.sf(z))


def test_rank_sum_on_pairs_that_mostly_agree_is_conservative():
    outcomes = pairs(80, 12, 3, 20)
    assert rank_sum(*outcomes, "two-sided") > 2 * mcnemar(*outcomes, "two-sided")


@pytest.mark.parametrize("test", [mcnemar, rank_sum])
@pytest.mark.parametrize("right", [True, False])
def test_outcomes_that_are_all_alike_show_nothing(test, right):
    assert test(np.full(30, right), np.full(30, right), "two-sided") == 1


def test_interval_of_pairs_is_the_normal_one_for_many_pairs():
    interval = interval_of_pairs(*samples(1000, 400, 300, 300), 20_000, np.random.default_rng(0))
    error = np.sqrt((700 / 2000 - 0.05**2) / 2000)
    np.testing.assert_allclose(interval, [0.05 - 1.96 * error, 0.05 + 1.96 * error], atol=0.001)


def test_interval_of_few_pairs_that_agree_is_not_a_point():
    low, high = interval_of_pairs(*samples(8, 0, 0, 0), 2000, np.random.default_rng(0))
    assert low < 0 < high


def test_reuse_widens_the_interval():
    rng = np.random.default_rng(0)
    correct = rng.random(400) < 0.7
    distinct, few = np.arange(200), np.repeat(np.arange(10), 20)
    once, reused = (
        interval_of_reused(correct, 200 + distinct, low, 5000, np.random.default_rng(0)) for low in (distinct, few)
    )
    assert reused[1] - reused[0] > 2 * (once[1] - once[0])


def test_interval_without_reuse_is_the_normal_one():
    correct = np.concatenate([np.arange(500) < 400, np.arange(500) < 350])
    interval = interval_of_reused(correct, np.arange(500), 500 + np.arange(500), 20_000, np.random.default_rng(0))
    error = np.sqrt((0.8 * 0.2 + 0.7 * 0.3) / 500)
    np.testing.assert_allclose(interval, [0.1 - 1.96 * error, 0.1 + 1.96 * error], atol=0.003)


@pytest.mark.parametrize(("method", "theirs"), [("bonferroni", "bonferroni"), ("benjamini-hochberg", "fdr_bh")])
def test_adjusted_p_values_are_statsmodels(method, theirs):
    p_values = np.random.default_rng(0).random(50) ** 3
    np.testing.assert_allclose(adjust_p_values(p_values, method), multipletests(p_values, method=theirs)[1])


@pytest.mark.parametrize("method", ["bonferroni", "benjamini-hochberg"])
def test_the_p_value_of_one_test_stays(method):
    assert adjust_p_values([0.03], method).tolist() == [0.03]


def test_p_values_outside_the_unit_interval_are_refused():
    with pytest.raises(ValueError, match=r"p_values lies in \[0\.1, 1\.2\]"):
        adjust_p_values([0.1, 1.2])
    with pytest.raises(ValueError, match="p_values has 1 values that are not finite"):
        adjust_p_values([0.1, np.nan])


def test_an_unknown_correction_is_refused():
    with pytest.raises(ValueError, match="method must be one of 'bonferroni', 'benjamini-hochberg'; got 'holm'"):
        adjust_p_values([0.1], "holm")
