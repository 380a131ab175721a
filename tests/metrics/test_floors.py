import numpy as np
import pytest
from scipy.stats import sem

from proxcal.metrics import ace, brier, ece, mce, nll, noise_floor, piece
from proxcal.metrics._deviation import EXACT_BELOW_VARIANCE, expected_deviation


def by_convolution(p):
    """E|S - μ| from the whole distribution of S, one Bernoulli convolved after another."""
    distribution = np.ones(1)
    for chance in p:
        distribution = np.convolve(distribution, [1 - chance, chance])
    return float(distribution @ np.abs(np.arange(len(distribution)) - p.sum()))


@pytest.mark.parametrize("n", [1, 2, 7, 50])
@pytest.mark.parametrize("low", [0.0, 0.5, 0.9, 0.999])
def test_deviation_of_a_small_bin_is_exact(n, low):
    p = np.random.default_rng(n).uniform(low, 1, n)
    assert np.sum(p * (1 - p)) < EXACT_BELOW_VARIANCE
    assert expected_deviation(p, np.zeros(n, dtype=int), 1)[0] == pytest.approx(by_convolution(p), rel=1e-9)


@pytest.mark.parametrize(("low", "high", "n"), [(0, 1, 100), (0.5, 1, 120), (0.9, 1, 400), (0.4, 0.6, 1000)])
def test_deviation_of_a_large_bin_is_right_to_one_part_in_50_000(low, high, n):
    p = np.random.default_rng(n).uniform(low, high, n)
    assert np.sum(p * (1 - p)) >= EXACT_BELOW_VARIANCE
    assert expected_deviation(p, np.zeros(n, dtype=int), 1)[0] == pytest.approx(by_convolution(p), rel=2e-5)


def test_deviation_is_computed_bin_by_bin():
    rng = np.random.default_rng(0)
    p, bins = rng.random(300), rng.choice([0, 1, 3], p=[0.9, 0.05, 0.05], size=300)
    expected = [by_convolution(p[bins == b]) for b in range(4)]
    np.testing.assert_allclose(expected_deviation(p, bins, 4), expected, rtol=1e-5)


def test_the_normal_approximation_would_not_do_for_a_bin_of_near_certainties():
    p = np.full(20, 0.99)
    normal = np.sqrt(2 / np.pi * np.sum(p * (1 - p)))
    assert abs(normal / by_convolution(p) - 1) > 0.05


@pytest.mark.parametrize("n", [50, 500, 3000])
@pytest.mark.parametrize(
    ("metric", "kwargs"),
    [(ece, {}), (ace, {"n_bins": 10}), (piece, {}), (piece, {"scheme": "grid"}), (brier, {}), (nll, {})],
)
def test_floor_is_the_mean_over_simulated_calibrated_models(metric, kwargs, n):
    rng = np.random.default_rng(n)
    confidence, proximity = rng.beta(5, 1, n), rng.random(n)
    given = {"proximity": proximity} if metric is piece else {}
    draws = [metric(confidence, rng.random(n) < confidence, **given, **kwargs) for _ in range(300)]
    assert abs(noise_floor(metric, confidence, **given, **kwargs) - np.mean(draws)) < 4 * sem(draws)


def test_floor_of_any_other_metric_is_a_mean_of_draws():
    confidence = np.random.default_rng(0).beta(5, 1, 400)
    few, many = (noise_floor(mce, confidence, n_draws=n, n_bins=5) for n in (200, 2000))
    assert few == pytest.approx(many, rel=0.1)


def test_floor_falls_as_samples_grow():
    rng = np.random.default_rng(0)
    floors = [noise_floor(piece, rng.beta(5, 1, n), rng.random(n)) for n in (500, 5000, 50_000)]
    np.testing.assert_allclose(floors, [0.14, 0.045, 0.014], rtol=0.1)


@pytest.mark.parametrize("metric", [ece, mce])
def test_floor_repeats_itself_bit_for_bit(metric):
    confidence = np.random.default_rng(0).random(200)
    assert noise_floor(metric, confidence) == noise_floor(metric, confidence)


@pytest.mark.parametrize("metric", [ece, ace, mce, brier, nll])
def test_certain_predictions_have_no_floor(metric):
    assert noise_floor(metric, np.repeat([0.0, 1.0], 20)) == 0


def test_one_sample_has_a_floor():
    assert noise_floor(ece, [0.8]) == pytest.approx(2 * 0.8 * 0.2)


def test_an_argument_the_metric_does_not_know_is_refused():
    with pytest.raises(TypeError, match="proximity"):
        noise_floor(ece, [0.5], [0.5])
    with pytest.raises(TypeError, match="n_bins"):
        noise_floor(brier, [0.5], n_bins=3)


def test_no_draws_are_refused():
    with pytest.raises(ValueError, match="n_draws must be a whole number of at least 1; got 0"):
        noise_floor(mce, [0.5], n_draws=0)
