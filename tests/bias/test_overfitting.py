import numpy as np
import pytest
from statsmodels.stats.proportion import confint_proportions_2indep

from proxcal.bias import overfitting_by_proximity


def simulate(n_train=4000, n=6000, seed=0):
    """Training samples are always right; held-out ones the less often, the lower their proximity."""
    rng = np.random.default_rng(seed)
    train, held_out = rng.random(n_train), rng.beta(2, 3, n)
    return np.ones(n_train), train, rng.random(n) < 0.5 + 0.5 * held_out, held_out


@pytest.fixture
def noisy():
    rng = np.random.default_rng(3)
    return rng.random(300) < 0.9, rng.random(300), rng.random(500) < 0.6, rng.random(500)


def test_gaps_are_the_differences_of_accuracy_between_the_same_edges(noisy):
    train_correct, train_proximity, correct, proximity = noisy
    found = overfitting_by_proximity(*noisy, n_groups=4)
    for g in range(4):
        low, high = found.edges[g], found.edges[g + 1] if g < 3 else np.inf
        train, held_out = (
            right[(low <= d) & (d < high)] for right, d in ((train_correct, train_proximity), (correct, proximity))
        )
        assert (found.train_count[g], found.count[g]) == (len(train), len(held_out))
        assert found.train_accuracy[g] == pytest.approx(train.mean())
        assert found.accuracy[g] == pytest.approx(held_out.mean())
        assert found.gap[g] == pytest.approx(train.mean() - held_out.mean())


def test_held_out_groups_are_of_equal_count(noisy):
    assert overfitting_by_proximity(*noisy).count.tolist() == [100] * 5


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_the_interval_of_a_gap_is_newcombes(noisy, level):
    found = overfitting_by_proximity(*noisy, level=level)
    right, held_out_right = (
        np.round(a * n) for a, n in ((found.train_accuracy, found.train_count), (found.accuracy, found.count))
    )
    for g in range(5):
        expected = confint_proportions_2indep(
            right[g], found.train_count[g], held_out_right[g], found.count[g], method="newcomb", alpha=1 - level
        )
        np.testing.assert_allclose((found.gap_low[g], found.gap_high[g]), expected, atol=1e-9)


def test_the_excess_is_the_lowest_groups_gap_less_the_highests(noisy):
    found = overfitting_by_proximity(*noisy)
    assert found.excess == pytest.approx(found.gap[0] - found.gap[-1])
    assert found.excess_low < found.excess < found.excess_high


def test_overfitting_that_is_worse_where_data_is_sparse_is_found():
    found = overfitting_by_proximity(*simulate())
    assert np.all(np.diff(found.gap) < 0)
    assert found.excess_low > 0.2


def test_the_interval_of_the_excess_holds_the_truth_as_often_as_it_says():
    truth, held = 0.2, 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        train, held_out = rng.random(600), rng.random(600)
        samples = rng.random(600) < 0.95, train, rng.random(600) < np.where(held_out < 0.5, 0.6, 0.8), held_out
        found = overfitting_by_proximity(*samples, n_groups=2)
        held += found.excess_low <= truth <= found.excess_high
    assert 0.92 < held / 400 < 0.98


def test_the_order_of_samples_does_not_matter(noisy):
    rng = np.random.default_rng(0)
    train, held_out = rng.permutation(300), rng.permutation(500)
    shuffled = overfitting_by_proximity(noisy[0][train], noisy[1][train], noisy[2][held_out], noisy[3][held_out])
    np.testing.assert_allclose(shuffled.gap, overfitting_by_proximity(*noisy).gap)


@pytest.mark.parametrize("train_right", [0, 1])
@pytest.mark.parametrize("right", [0, 1])
def test_sets_that_are_all_right_or_all_wrong_are_defined(noisy, train_right, right):
    found = overfitting_by_proximity(np.full(300, train_right), noisy[1], np.full(500, right), noisy[3])
    np.testing.assert_allclose(found.gap, train_right - right)
    assert np.isfinite([*found.gap_low, *found.gap_high, found.excess_low, found.excess_high]).all()


def test_a_group_without_training_samples_is_refused_by_its_number(noisy):
    with pytest.raises(
        ValueError, match=r"train_proximity has no samples in group 1 of 5, so overfitting there cannot"
    ):
        overfitting_by_proximity(noisy[0], 1 + noisy[1], *noisy[2:])


def test_one_proximity_is_refused(noisy):
    with pytest.raises(ValueError, match=r"proximity is 0\.5 for 100% of the samples"):
        overfitting_by_proximity(*noisy[:3], np.full(500, 0.5))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"train_correct": np.full(300, 2)}, "train_correct has values other than 0 and 1"),
        ({"train_proximity": np.zeros(7)}, "train_proximity has 7 samples; correct has 300"),
        ({"correct": np.zeros(4), "proximity": np.arange(4)}, "correct has 4 samples; at least 5 needed"),
        ({"n_groups": 1}, "n_groups must be a whole number of at least 2; got 1"),
        ({"level": 1}, r"level must be a number in \(0, 0\.9999\]; got 1"),
    ],
)
def test_an_argument_out_of_range_is_refused(noisy, change, message):
    names = ("train_correct", "train_proximity", "correct", "proximity")
    with pytest.raises(ValueError, match=message):
        overfitting_by_proximity(**dict(zip(names, noisy, strict=True)) | change)
