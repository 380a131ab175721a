import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from proxcal.metrics import smooth_ece
from proxcal.metrics.smooth import N_CELLS, smoothed_error


def by_reflection(confidence, correct, sigma, n_points=20_000):
    """∫ |Σ K_σ(t, confidence_i) (correct_i - confidence_i)| / n dt, the reflected Gaussian a sum over mirror images."""
    t = (np.arange(n_points) + 0.5) / n_points
    total = np.zeros(n_points)
    for p, right in zip(confidence, correct, strict=True):
        images = [2 * k + sign * p for k in range(-4, 5) for sign in (-1, 1)]
        total += (right - p) * sum(norm.pdf(t, image, sigma) for image in images)
    return np.abs(total).mean() / len(confidence)


@pytest.fixture
def samples():
    rng = np.random.default_rng(0)
    confidence = np.append(rng.beta(4, 1, 38), [0.0, 1.0])
    return confidence, rng.random(40) < confidence**2


def test_smooth_ece_is_the_error_at_the_bandwidth_equal_to_it(samples):
    found = smooth_ece(*samples)
    assert 0.05 < found < 0.5
    assert by_reflection(*samples, found) == pytest.approx(found, abs=2e-4)


@pytest.mark.parametrize("sigma", [0.01, 0.1, 0.7])
def test_the_error_at_a_bandwidth_is_the_integral_of_reflected_gaussians(samples, sigma):
    confidence, correct = samples
    cells = np.minimum((confidence * N_CELLS).astype(int), N_CELLS - 1)
    excess = np.bincount(cells, weights=correct - confidence, minlength=N_CELLS) / 40
    assert smoothed_error(excess, sigma) == pytest.approx(by_reflection(*samples, sigma), abs=2e-3)


def test_one_confidence_is_off_by_its_gap_at_any_bandwidth():
    assert smooth_ece(np.full(100, 0.7), np.arange(100) < 58) == pytest.approx(0.12, abs=1e-6)


def test_calibrated_confidence_is_off_by_less_the_more_samples_there_are():
    rng = np.random.default_rng(0)
    errors = [smooth_ece(p := rng.beta(4, 1, n), rng.random(n) < p) for n in (300, 5000, 100_000)]
    assert errors[0] > 2 * errors[1] > 4 * errors[2]


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_the_order_of_samples_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    confidence, order = rng.random(60), rng.permutation(60)
    correct = rng.random(60) < confidence
    assert smooth_ece(confidence[order], correct[order]) == pytest.approx(smooth_ece(confidence, correct), abs=1e-8)


@given(st.lists(st.tuples(st.floats(0, 1, width=16), st.booleans()), min_size=1, max_size=30))
@settings(max_examples=50, deadline=None)
def test_smooth_ece_lies_between_the_overall_gap_and_the_mean_of_all_errors(pairs):
    confidence, correct = map(np.array, zip(*pairs, strict=True))
    gap, cell = correct - confidence, 1 / N_CELLS
    assert abs(gap.mean()) - cell <= smooth_ece(confidence, correct) <= np.abs(gap).mean() + cell


@pytest.mark.parametrize(("confidence", "right", "expected"), [(1.0, 1, 0), (1.0, 0, 1), (0.0, 1, 1), (0.0, 0, 0)])
def test_certainty_costs_nothing_or_everything(confidence, right, expected):
    assert smooth_ece(np.full(30, confidence), np.full(30, right)) == pytest.approx(expected, abs=1e-6)


def test_one_sample_is_off_by_its_own_error():
    assert smooth_ece([0.7], [1]) == pytest.approx(0.3, abs=1e-6)
