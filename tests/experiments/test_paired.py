import numpy as np
import pytest
from scipy import stats

from proxcal.experiments.paired import over_replicates, over_splits


def test_without_overlap_it_is_the_paired_t_test():
    rng = np.random.default_rng(0)
    base, ours = rng.normal(size=5), rng.normal(0.5, size=5)
    assert over_splits(ours - base, 0.0) == pytest.approx(stats.ttest_rel(ours, base).pvalue)


def test_over_half_splits_of_the_same_data_chance_is_starred_one_time_in_ten():
    rng = np.random.default_rng(0)
    n, starred, repeats = 400, 0, 600
    for _ in range(repeats):
        gain = rng.normal(size=n)  # of each sample; zero in truth
        means = np.array([gain[rng.permutation(n)[: n // 2]].mean() for _ in range(5)])
        starred += over_splits(means, 1.0) < 0.1
    assert 0.06 < starred / repeats < 0.14


def test_differences_all_zero_are_not_significant():
    assert over_splits(np.zeros(5), 1.0) == 1


def test_equal_differences_other_than_zero_are_significant():
    assert over_splits(np.full(5, 0.25), 1.0) == 0


def test_replicates_are_compared_about_their_own_centre():
    replicates = np.array([0.1, 0.3, 0.5])  # 0.2, 0 and 0.2 from their centre
    assert over_replicates(0.19, replicates) == pytest.approx(3 / 4)
    assert over_replicates(-0.25, replicates) == pytest.approx(1 / 4)


def test_no_difference_has_p_of_one():
    assert over_replicates(0.0, np.zeros(9)) == 1
