import dataclasses

import numpy as np
import pytest
from hypothesis import given as given_that
from hypothesis import settings
from hypothesis import strategies as st
from scipy.stats import ttest_rel

from proxcal import ProxcalWarning
from proxcal.metrics import ace, brier, ece, mce, nll, paired_difference, piece, smooth_ece

ERRORS = [ece, ace, mce, piece]


def samples(n, seed=0, gap=0.1):
    """An overconfident confidence, the calibrated one, and what came true."""
    rng = np.random.default_rng(seed)
    calibrated = rng.uniform(0.4, 0.9, n)
    return calibrated + gap, calibrated, rng.random(n) < calibrated, rng.random(n)


def compare(metric, before, after, correct, proximity, **settings):
    bins = {"n_bins": 3} if metric in ERRORS else {}
    if metric is piece:
        bins |= {"proximity": proximity, "n_proximity_bins": 3}
    return paired_difference(metric, before, after, correct, **{"n_resamples": 200} | bins | settings)


@pytest.mark.parametrize("metric", [*ERRORS, brier, nll])
def test_identical_calibrators_do_not_differ(metric):
    before, _, correct, proximity = samples(500)
    found = compare(metric, before, before.copy(), correct, proximity)
    assert found.before == found.after
    assert found.difference == 0
    assert found.p_value == 1
    assert found.low == pytest.approx(0, abs=1e-9)
    assert found.high == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("metric", [*ERRORS, brier, nll])
def test_the_better_calibrator_is_found(metric):
    found = compare(metric, *samples(4000))
    assert found.low <= found.difference <= found.high < 0
    assert found.p_value < 0.02
    if metric in ERRORS:
        assert found.difference == pytest.approx(-0.1, abs=0.03)


@pytest.mark.parametrize("metric", [ece, brier])
def test_before_and_after_exchanged_turn_the_difference_round(metric):
    before, after, *rest = samples(1500)
    one, other = compare(metric, before, after, *rest), compare(metric, after, before, *rest)
    assert (one.before, one.after) == (other.after, other.before)
    assert one.difference == pytest.approx(-other.difference, abs=1e-9)
    assert one.low == pytest.approx(-other.high, abs=0.01)


@pytest.mark.parametrize("metric", [ece, piece])
def test_calibrators_that_are_equally_far_off_are_seldom_told_apart(metric):
    """One over-, the other underconfident by a tenth."""
    rejected, held = [], []
    for seed in range(80):
        before, calibrated, correct, proximity = samples(600, seed)
        found = compare(metric, before, calibrated - 0.1, correct, proximity, n_resamples=100)
        rejected.append(found.p_value < 0.05)
        held.append(found.low <= 0 <= found.high)
    assert np.mean(rejected) < 0.15
    assert np.mean(held) > 0.85


@pytest.mark.parametrize("metric", [brier, nll])
def test_losses_are_compared_by_students_paired_test(metric):
    before, after, correct, proximity = samples(300)
    losses, losses_after = (metric(c, correct, return_result=True).losses for c in (before, after))
    expected = ttest_rel(losses_after, losses)
    found = compare(metric, before, after, correct, proximity, level=0.9)
    assert found.difference == pytest.approx(metric(after, correct) - metric(before, correct))
    assert found.p_value == pytest.approx(expected.pvalue)
    np.testing.assert_allclose((found.low, found.high), expected.confidence_interval(0.9))


@pytest.mark.parametrize("metric", [*ERRORS, brier])
def test_a_higher_level_gives_an_interval_around_that_of_a_lower(metric):
    found = [compare(metric, *samples(600), level=level) for level in (0.5, 0.9, 0.99)]
    assert np.all(np.diff([each.low for each in found]) <= 0)
    assert np.all(np.diff([each.high for each in found]) >= 0)


@pytest.mark.parametrize("metric", [ece, brier])
def test_predictions_that_change_are_right_on_their_own_samples(metric):
    before, after, correct, _ = samples(900)
    right_after = np.random.default_rng(5).random(900) < after
    found = paired_difference(metric, before, after, correct, correct_after=right_after)
    assert (found.before, found.after) == pytest.approx((metric(before, correct), metric(after, right_after)))


@given_that(st.integers(0, 2**32 - 1), st.sampled_from([*ERRORS, brier]))
@settings(max_examples=15, deadline=None)
def test_the_order_of_samples_does_not_matter(seed, metric):
    arrays, order = samples(120, seed), np.random.default_rng(seed).permutation(120)
    one = compare(metric, *arrays, n_resamples=50)
    other = compare(metric, *(array[order] for array in arrays), n_resamples=50)
    assert one.difference == pytest.approx(other.difference, abs=1e-6)
    assert (one.before, one.after) == pytest.approx((other.before, other.after))


def test_result_repeats_itself_bit_for_bit():
    first, second = (compare(piece, *samples(400), random_state=3) for _ in range(2))
    assert first == second


def test_few_samples_a_bin_are_warned_of():
    with pytest.warns(
        ProxcalWarning, match="piece has 150 bins for 400 samples, fewer than 10 a bin: .* compare brier"
    ):
        compare(piece, *samples(400), n_bins=15, n_proximity_bins=10, n_resamples=20)


CONFIDENCE = np.linspace(0.02, 0.98, 30)
DEGENERATE = {
    "30 samples": (CONFIDENCE, np.arange(30) % 3 > 0),
    "all right": (CONFIDENCE, np.ones(30)),
    "all wrong": (CONFIDENCE, np.zeros(30)),
    "certain and right": (np.ones(30), np.ones(30)),
    "certain and wrong": (np.ones(30), np.zeros(30)),
    "zeros and ones": (np.arange(30) % 2, np.arange(30) % 3 > 0),
    "two samples": (CONFIDENCE[:2], [1, 0]),
}


@pytest.mark.parametrize("same", [False, True])
@pytest.mark.parametrize("case", DEGENERATE)
@pytest.mark.parametrize("metric", [*ERRORS, brier, nll])
@pytest.mark.filterwarnings("ignore::proxcal.ProxcalWarning")
def test_degenerate_samples_are_defined(metric, case, same):
    confidence, correct = DEGENERATE[case]
    after = confidence if same else np.asarray(confidence) ** 2 / 2
    found = compare(metric, confidence, after, correct, np.full(len(correct), 0.5), n_resamples=50)
    assert np.isfinite(dataclasses.astuple(found)).all()
    assert found.low <= found.difference <= found.high
    assert 0 <= found.p_value <= 1
    if same:
        assert (found.difference, found.p_value) == (0, 1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"after": CONFIDENCE[:7]}, "confidence has 7 samples; at least 30 needed"),
        ({"before": CONFIDENCE[:1], "correct": [1]}, "confidence has 1 samples; at least 2 needed"),
        ({"metric": smooth_ece}, "metric must be one of ece, ace, mce, piece, brier, nll; got smooth_ece"),
        ({"level": 0}, r"level must be a number in \(0, 0\.9999\]; got 0"),
        ({"n_resamples": 1.5}, "n_resamples must be a whole number of at least 1; got 1.5"),
    ],
)
def test_an_argument_out_of_range_is_refused(change, message):
    given = {"metric": ece, "before": CONFIDENCE, "after": CONFIDENCE, "correct": np.ones(30)}
    with pytest.raises(ValueError, match=message):
        paired_difference(**given | change)
