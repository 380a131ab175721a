import dataclasses

import numpy as np
import pytest
from hypothesis import given as given_that
from hypothesis import settings
from hypothesis import strategies as st
from scipy.stats import t

from proxcal.metrics import (
    ace,
    brier,
    classwise_ece,
    confidence_interval,
    debiased,
    ece,
    mce,
    nll,
    noise_floor,
    piece,
    smooth_ece,
)

ERRORS = [ece, ace, mce, piece, smooth_ece]


def samples(n, gap=0.1, seed=0):
    """Overconfident by `gap` everywhere: the true ECE, ACE, MCE and PIECE are `gap`."""
    rng = np.random.default_rng(seed)
    confidence = rng.uniform(0.5, 1, n)
    return confidence, rng.random(n) < confidence - gap, rng.random(n)


def interval(metric, confidence, correct, proximity, **settings):
    given = {"proximity": proximity} if metric is piece else {}
    return confidence_interval(metric, confidence, correct, **given, **{"n_resamples": 300} | settings)


@pytest.mark.parametrize("metric", ERRORS)
def test_result_has_the_metric_and_its_floor_as_they_are_elsewhere(metric):
    confidence, correct, proximity = samples(1500)
    given = {"proximity": proximity} if metric is piece else {}
    found = interval(metric, confidence, correct, proximity, n_resamples=20)
    assert found.value == metric(confidence, correct, **given)
    assert found.noise_floor == pytest.approx(noise_floor(metric, confidence, **given), rel=0.1)
    assert found.level == 0.95


@pytest.mark.parametrize("metric", ERRORS)
@pytest.mark.parametrize("gap", [0, 0.1])
def test_the_interval_holds_the_debiased_value(metric, gap):
    found = interval(metric, *samples(1000, gap), n_resamples=100)
    assert 0 <= found.low <= found.debiased <= found.high <= 1


@pytest.mark.parametrize(("metric", "bins"), [(ece, {"n_bins": 5}), (piece, {"n_bins": 4, "n_proximity_bins": 3})])
def test_intervals_of_a_model_that_is_off_hold_its_error_as_often_as_they_say(metric, bins):
    found = [interval(metric, *samples(400, seed=seed), n_resamples=100, level=0.9, **bins) for seed in range(150)]
    assert 0.83 < np.mean([each.low <= 0.1 <= each.high for each in found]) < 0.97
    assert np.median([each.debiased for each in found]) == pytest.approx(0.1, abs=0.01)


@pytest.mark.parametrize("metric", [ece, ace, mce])
def test_intervals_of_a_calibrated_model_start_at_zero_though_the_metric_does_not(metric):
    found = [interval(metric, *samples(400, 0, seed), n_resamples=100, n_bins=5) for seed in range(60)]
    assert np.mean([each.low == 0 for each in found]) > 0.85
    assert np.mean([each.debiased / each.value for each in found]) < 0.6


def test_more_samples_narrow_the_interval():
    widths = [(found := interval(ece, *samples(n), n_resamples=100)).high - found.low for n in (300, 3000, 30_000)]
    assert widths[0] > 2 * widths[1] > 4 * widths[2]


@pytest.mark.parametrize("metric", [*ERRORS, brier, nll])
def test_a_higher_level_gives_an_interval_around_that_of_a_lower(metric):
    found = [interval(metric, *samples(800), level=level, n_resamples=100) for level in (0.5, 0.8, 0.95, 0.99)]
    assert np.all(np.diff([each.low for each in found]) <= 1e-9)
    assert np.all(np.diff([each.high for each in found]) >= -1e-9)
    assert found[-1].high - found[-1].low > found[0].high - found[0].low


@pytest.mark.parametrize("metric", [brier, nll])
def test_intervals_of_mean_losses_are_students(metric):
    confidence, correct, proximity = samples(200)
    losses = metric(confidence, correct, return_result=True).losses
    expected = t.interval(0.9, 199, losses.mean(), losses.std(ddof=1) / np.sqrt(200))
    found = interval(metric, confidence, correct, proximity, level=0.9)
    np.testing.assert_allclose((found.low, found.high), expected)
    assert found.value == found.debiased == pytest.approx(losses.mean())
    assert found.noise_floor == noise_floor(metric, confidence)


def test_the_metrics_own_arguments_reach_it():
    confidence, correct, proximity = samples(500)
    assert confidence_interval(ece, confidence, correct, n_bins=3).value == ece(confidence, correct, 3)
    found = confidence_interval(piece, confidence, correct, proximity, scheme="grid", n_proximity_bins=2)
    assert found.value == piece(confidence, correct, proximity, scheme="grid", n_proximity_bins=2)
    assert confidence_interval(mce, confidence, correct, weighted=True).value == mce(confidence, correct, weighted=True)


def test_debiased_is_the_middle_of_the_same_interval():
    confidence, correct, proximity = samples(500)
    found = confidence_interval(piece, confidence, correct, proximity, n_bins=5, n_resamples=200)
    assert debiased(piece, confidence, correct, proximity, n_bins=5, n_resamples=200) == found.debiased


@pytest.mark.parametrize("metric", ERRORS)
def test_result_repeats_itself_bit_for_bit(metric):
    first, second = (interval(metric, *samples(300), n_resamples=50) for _ in range(2))
    assert first == second


@given_that(st.integers(0, 2**32 - 1), st.sampled_from([*ERRORS, brier]))
@settings(max_examples=15, deadline=None)
def test_the_order_of_samples_does_not_matter(seed, metric):
    rng = np.random.default_rng(seed)
    confidence, correct, proximity = samples(60, seed=seed)
    order = rng.permutation(60)
    one = interval(metric, confidence, correct, proximity, n_resamples=50)
    other = interval(metric, confidence[order], correct[order], proximity[order], n_resamples=50)
    for field in ("value", "low", "high", "debiased"):
        assert getattr(one, field) == pytest.approx(getattr(other, field), abs=1e-6)


CONFIDENCE = np.linspace(0.02, 0.98, 30)
DEGENERATE = {
    "30 samples": (CONFIDENCE, np.arange(30) % 3 > 0),
    "all right": (CONFIDENCE, np.ones(30)),
    "all wrong": (CONFIDENCE, np.zeros(30)),
    "certain and right": (np.ones(30), np.ones(30)),
    "certain and wrong": (np.ones(30), np.zeros(30)),
    "certainly wrong": (np.zeros(30), np.zeros(30)),
    "zeros and ones": (np.arange(30) % 2, np.arange(30) % 3 > 0),
    "one confidence": (np.full(30, 0.7), np.arange(30) % 3 > 0),
    "one sample": (CONFIDENCE[:1], [1]),
}


@pytest.mark.parametrize("case", DEGENERATE)
@pytest.mark.parametrize("metric", ERRORS)
@pytest.mark.parametrize("constant", [False, True])
def test_degenerate_samples_give_finite_intervals_with_room_for_doubt(metric, case, constant):
    confidence, correct = DEGENERATE[case]
    proximity = np.full(len(confidence), 0.5) if constant else np.arange(len(confidence))
    found = interval(metric, confidence, correct, proximity, n_resamples=100)
    assert np.isfinite(dataclasses.astuple(found)).all()
    assert 0 <= found.low <= found.debiased <= found.high <= 1
    assert found.high - found.low > 0.02


@pytest.mark.parametrize("metric", [brier, nll])
@pytest.mark.parametrize("case", [case for case in DEGENERATE if case != "one sample"])
def test_degenerate_samples_give_finite_intervals_of_mean_losses(metric, case):
    assert np.isfinite(dataclasses.astuple(interval(metric, *DEGENERATE[case], np.arange(30)))).all()


def test_a_mean_loss_of_one_sample_has_no_interval_and_says_why():
    with pytest.raises(ValueError, match="confidence has 1 sample; the interval of brier needs at least 2"):
        confidence_interval(brier, [0.7], [1])


@pytest.mark.parametrize(
    ("metric", "settings", "message"),
    [
        (ece, {"level": 1}, r"level must be a number in \(0, 0\.9999\]; got 1"),
        (ece, {"n_resamples": 0}, "n_resamples must be a whole number of at least 1; got 0"),
        (classwise_ece, {}, "metric must be one of ece, ace, mce, piece, smooth_ece, brier, nll; got classwise_ece"),
    ],
)
def test_what_has_no_interval_is_refused(metric, settings, message):
    with pytest.raises(ValueError, match=message):
        confidence_interval(metric, CONFIDENCE, np.ones(30), **settings)
