import numpy as np
import pytest

from proxcal.metrics import ace, ece, mce, piece, smooth_ece
from proxcal.metrics._cells import LEAST_SHARE, cells_of


def samples(n=2000, seed=0):
    """Overconfident by a tenth below confidence 0.75, underconfident by as much above."""
    rng = np.random.default_rng(seed)
    confidence = rng.uniform(0.5, 0.9, n)
    return confidence, rng.random(n) < confidence + np.where(confidence < 0.75, -0.1, 0.1), rng.random(n)


def given(metric, proximity):
    return {"proximity": proximity} if metric is piece else {}


@pytest.mark.parametrize("metric", [ece, ace, mce, piece, smooth_ece])
def test_the_error_of_the_cells_sums_is_the_metric(metric):
    confidence, correct, proximity = samples()
    cells = cells_of(metric, confidence, correct, given(metric, proximity))
    sums = np.bincount(cells.bins, weights=correct - confidence, minlength=len(cells.count))
    value = metric(confidence, correct, **given(metric, proximity))
    assert float(cells.error(sums)) == pytest.approx(value, rel=1e-2 if metric is smooth_ece else 1e-9)
    np.testing.assert_array_equal(cells.error(np.stack([sums, 2 * sums])), [cells.error(sums), cells.error(2 * sums)])


@pytest.mark.parametrize("metric", [ece, ace, mce])
def test_cells_of_many_samples_are_believed_to_be_off_as_they_were_seen(metric):
    confidence, correct, _ = samples(200_000)
    cells = cells_of(metric, confidence, correct, {"n_bins": 16})
    below = cells.confidence[cells.count > 0] < 0.7
    above = cells.confidence[cells.count > 0] > 0.78
    np.testing.assert_allclose(cells.pattern[cells.count > 0][below], -0.1, atol=0.015)
    np.testing.assert_allclose(cells.pattern[cells.count > 0][above], 0.1, atol=0.015)


def test_cells_of_few_samples_are_drawn_towards_the_mean_of_all():
    rng = np.random.default_rng(0)
    confidence = rng.uniform(0.5, 0.9, 300)
    correct = rng.random(300) < confidence - 0.1
    cells = cells_of(ace, confidence, correct, {"n_bins": 60})
    gap = np.bincount(cells.bins, weights=correct - confidence) / cells.count
    np.testing.assert_allclose(cells.pattern, gap.mean() + LEAST_SHARE * (gap - gap.mean()), atol=1e-12)


def test_smooth_cells_are_off_by_what_is_seen_around_them():
    confidence, correct, _ = samples(200_000)
    cells = cells_of(smooth_ece, confidence, correct, {})
    held = cells.count > 0
    below, above = (
        held & (low < cells.confidence) & (cells.confidence < high) for low, high in ((0.53, 0.6), (0.85, 0.87))
    )
    assert np.average(cells.pattern[below], weights=cells.count[below]) == pytest.approx(-0.1, abs=0.03)
    assert np.average(cells.pattern[above], weights=cells.count[above]) == pytest.approx(0.1, abs=0.03)


def test_an_unknown_metric_is_refused():
    with pytest.raises(ValueError, match="metric must be one of ece, ace, mce, piece, smooth_ece, brier, nll; got 'x'"):
        cells_of("x", np.array([0.5]), np.array([True]), {})
