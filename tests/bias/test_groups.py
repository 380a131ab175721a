import numpy as np
import pytest

from proxcal.bias import proximity_groups


def test_groups_hold_the_means_of_equal_shares_lowest_proximity_first():
    proximity = np.array([0.9, 0.1, 0.5, 0.2, 0.8, 0.4])
    confidence = np.array([0.9, 0.5, 0.7, 0.7, 0.7, 0.5])
    correct = np.array([1, 0, 1, 1, 1, 0])
    groups = proximity_groups(confidence, correct, proximity, n_groups=3)
    assert groups.count.tolist() == [2, 2, 2]
    np.testing.assert_allclose(groups.proximity, [0.15, 0.45, 0.85])
    np.testing.assert_allclose(groups.accuracy, [0.5, 0.5, 1.0])
    np.testing.assert_allclose(groups.confidence, [0.6, 0.6, 0.8])
    np.testing.assert_allclose(groups.gap, [-0.1, -0.1, 0.2])
    assert groups.groups.tolist() == [2, 0, 1, 0, 2, 1]


def test_group_sizes_differ_by_at_most_one():
    rng = np.random.default_rng(0)
    assert proximity_groups(rng.random(23), rng.random(23) < 0.5, rng.random(23)).count.tolist() == [5, 5, 4, 5, 4]


def test_proximity_may_be_a_logarithm():
    rng = np.random.default_rng(0)
    confidence, proximity = rng.random((2, 50))
    plain, log = (proximity_groups(confidence, np.ones(50), p) for p in (proximity, np.log(proximity)))
    np.testing.assert_array_equal(plain.groups, log.groups)


@pytest.mark.parametrize("n_equal", [20, 18])
def test_proximity_that_does_not_tell_the_outermost_groups_apart_is_refused(n_equal):
    proximity = np.append(np.zeros(n_equal), np.ones(20 - n_equal))
    with pytest.raises(ValueError, match=rf"proximity is 0 for {n_equal * 5}% of the samples"):
        proximity_groups(np.full(20, 0.5), np.ones(20), proximity)


def test_fewer_samples_than_groups_are_refused():
    with pytest.raises(ValueError, match="confidence has 4 samples; at least 5 needed"):
        proximity_groups(np.full(4, 0.5), np.ones(4), np.arange(4))


@pytest.mark.parametrize("n_groups", [1, 0, 2.5])
def test_a_single_group_is_refused(n_groups):
    with pytest.raises(ValueError, match="n_groups must be a whole number of at least 2"):
        proximity_groups(np.full(4, 0.5), np.ones(4), np.arange(4), n_groups)
