import numpy as np
import pytest

from proxcal.informed import _fourier, _kde


def cloud(n, seed=0, width=8.0):
    """Points in bandwidths, denser in the middle."""
    return width * np.random.default_rng(seed).normal(size=(n, 2)).clip(-3, 3)


def weights_of(n, k=2):
    return np.random.default_rng(5).random((n, k))


def slow_sums(points, samples, weights):
    squares = ((points[:, None] - samples) ** 2).sum(axis=-1)
    return np.exp(-squares / 2) @ weights


@pytest.mark.parametrize("width", [0.0, 0.1, 8.0])
def test_sums_are_those_over_all_pairs(width):
    samples, weights = cloud(400, width=width), weights_of(400)
    expected = slow_sums(samples, samples, weights)
    np.testing.assert_allclose(_fourier.kernel_sums(samples, samples, weights), expected, rtol=1e-11, atol=1e-11)


def test_blocks_do_not_change_sums_beyond_rounding(monkeypatch):
    samples, weights = cloud(400), weights_of(400)
    whole = _fourier.kernel_sums(samples, samples, weights)
    monkeypatch.setattr(_fourier, "_BYTES", 20_000)
    np.testing.assert_allclose(_fourier.kernel_sums(samples, samples, weights), whole, atol=1e-12)


def test_logarithms_are_right_far_from_all_samples_too(monkeypatch):
    monkeypatch.setattr(_fourier, "pays", lambda *_: True)
    samples, weights = cloud(400), weights_of(400)
    points = np.concatenate([cloud(300, seed=1), [[-24.0, 24.0], [40.0, 0.0], [1e4, -1e4]]])
    found = _kde.log_kernel_sums(points, samples, weights, np.ones(2))
    expected = _kde._over_pairs(points, samples, weights)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_it_pays_among_many_and_not_for_a_few_points_or_where_one_sample_is_far_off():
    samples = cloud(20_000)
    assert _fourier.pays(20_000, samples)
    assert not _fourier.pays(10, samples)
    assert not _fourier.pays(20_000, np.concatenate([samples, [[1e6, 1e6]]]))
