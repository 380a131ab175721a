import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxcal.metrics import ace, ece, mce


@pytest.fixture
def samples():
    rng = np.random.default_rng(0)
    confidence = np.append(rng.beta(4, 1, 998), [0.0, 1.0])
    return confidence, rng.random(1000) < confidence**1.5


def gaps_of_width(confidence, correct, n_bins):
    """(share, |accuracy - confidence|) of each bin that has members, a sample at a time."""
    members = {}
    for p, right in zip(confidence, correct, strict=True):
        bin_ = next(b for b in range(n_bins) if p < (b + 1) / n_bins or b == n_bins - 1)
        members.setdefault(bin_, []).append((p, right))
    return [gap_of(group, len(confidence)) for group in members.values()]


def gaps_of_count(confidence, correct, n_bins):
    pairs = sorted(zip(confidence, correct, strict=True))
    n = len(pairs)
    groups = [[pair for rank, pair in enumerate(pairs) if rank * n_bins // n == b] for b in range(n_bins)]
    return [gap_of(group, n) for group in groups if group]


def gap_of(group, n):
    return len(group) / n, abs(sum(p for p, _ in group) - sum(right for _, right in group)) / len(group)


@pytest.mark.parametrize("n_bins", [1, 10, 15, 49])
def test_ece_is_the_formula(samples, n_bins):
    expected = sum(share * gap for share, gap in gaps_of_width(*samples, n_bins))
    assert ece(*samples, n_bins) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("n_bins", [1, 10, 15, 49])
def test_ace_is_the_formula(samples, n_bins):
    expected = sum(share * gap for share, gap in gaps_of_count(*samples, n_bins))
    assert ace(*samples, n_bins) == pytest.approx(expected, abs=1e-12)


def test_mce_is_the_largest_gap(samples):
    assert mce(*samples) == pytest.approx(max(gap for _, gap in gaps_of_width(*samples, 15)))


def test_weighted_mce_is_the_largest_share_times_gap(samples):
    expected = max(share * gap for share, gap in gaps_of_width(*samples, 15))
    assert mce(*samples, weighted=True) == pytest.approx(expected)


@pytest.mark.parametrize("metric", [ece, ace, mce])
@pytest.mark.parametrize(("right", "expected"), [(True, 0.0), (False, 1.0)])
def test_certainty_costs_nothing_when_always_right_and_everything_when_always_wrong(metric, right, expected):
    assert metric(np.ones(40), np.full(40, right)) == expected


@pytest.mark.parametrize("metric", [ece, ace, mce])
def test_one_sample_is_off_by_its_own_error(metric):
    assert metric([0.7], [True]) == pytest.approx(0.3)


@pytest.mark.parametrize("metric", [ece, mce])
def test_constant_confidence_is_one_bin(metric):
    assert metric(np.full(10, 0.6), np.arange(10) < 7) == pytest.approx(0.1)


@pytest.mark.parametrize("metric", [ece, ace, mce])
@given(st.integers(0, 2**32 - 1))
def test_the_order_of_samples_without_ties_does_not_matter(metric, seed):
    rng = np.random.default_rng(seed)
    confidence = rng.permutation(np.linspace(0.01, 0.99, 50))
    correct = rng.random(50) < confidence
    order = rng.permutation(50)
    assert metric(confidence[order], correct[order], 7) == pytest.approx(metric(confidence, correct, 7), abs=1e-12)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("metric", [ece, ace, mce])
def test_value_is_a_plain_float_for_every_dtype(metric, dtype):
    value = metric(np.array([0.25, 0.75], dtype), np.array([0, 1]))
    assert type(value) is float
    assert value == pytest.approx(0.25)


@pytest.mark.parametrize("metric", [ece, ace, mce])
def test_result_has_the_value_and_the_bins_it_comes_from(samples, metric):
    result = metric(*samples, return_result=True)
    assert result.value == metric(*samples)
    assert len(result.count) == len(result.confidence) == len(result.accuracy) == len(result.edges) - 1 == 15
    assert result.count.sum() == len(samples[0])
    np.testing.assert_array_equal(np.bincount(result.bins, minlength=15), result.count)


def test_edges_of_ece_are_equally_spaced(samples):
    np.testing.assert_allclose(ece(*samples, return_result=True).edges, np.linspace(0, 1, 16))


def test_edges_of_ace_are_the_lowest_confidence_of_each_bin_and_the_highest_of_all(samples):
    result = ace(*samples, return_result=True)
    lowest = [samples[0][result.bins == b].min() for b in range(15)]
    assert result.edges.tolist() == [*lowest, samples[0].max()]


def test_edges_of_ace_rise_when_there_are_fewer_samples_than_bins():
    result = ace([0.2, 0.9], [0, 1], return_result=True)
    assert result.count.sum() == 2
    assert np.all(np.diff(result.edges) >= 0)
    assert result.edges[[0, -1]].tolist() == [0.2, 0.9]


def test_results_are_frozen(samples):
    result = ece(*samples, return_result=True)
    with pytest.raises(AttributeError):
        result.value = 0.0


@pytest.mark.parametrize("metric", [ece, ace, mce])
@pytest.mark.parametrize("n_bins", [0, -1, 2.5, True])
def test_a_number_of_bins_that_is_none_is_refused(metric, n_bins):
    with pytest.raises(ValueError, match="n_bins must be a whole number of at least 1"):
        metric([0.5], [1], n_bins)


@pytest.mark.parametrize("metric", [ece, ace, mce])
def test_bad_samples_are_refused(metric):
    with pytest.raises(ValueError, match="confidence has 1 values that are not finite"):
        metric([0.5, np.nan], [1, 0])
    with pytest.raises(ValueError, match="correct has 1 samples; confidence has 2"):
        metric([0.5, 0.6], [1])
    with pytest.raises(ValueError, match="confidence has 0 samples"):
        metric([], [])


def test_a_result_prints_its_bins_and_not_every_sample(samples):
    result = repr(ece(*samples, return_result=True))
    assert "accuracy=" in result
    assert "bins=" not in result
