import numpy as np
import pytest

from proxcal.metrics import ace, ece, mce, piece, smooth_ece
from proxcal.metrics._cells import cells_of
from proxcal.metrics._path import N_STEPS, walk

QUANTILES = (0.975, 0.5, 0.025)


def samples(n=2000, seed=0):
    """Overconfident by a tenth."""
    rng = np.random.default_rng(seed)
    confidence = rng.uniform(0.5, 1, n)
    return confidence, rng.random(n) < confidence - 0.1, rng.random(n)


def given(metric, proximity):
    return {"proximity": proximity} if metric is piece else {}


@pytest.mark.parametrize("metric", [ece, ace, mce, piece, smooth_ece])
def test_errors_and_what_is_shown_rise_along_the_path_from_a_calibrated_model(metric):
    confidence, correct, proximity = samples()
    kwargs = given(metric, proximity)
    value = metric(confidence, correct, **kwargs)
    path = walk(cells_of(metric, confidence, correct, kwargs), value, QUANTILES, 300, 0)
    assert len(path.truth) == N_STEPS
    assert path.truth[0] == 0
    assert np.all(np.diff(path.truth) >= 0)
    assert np.all(np.diff(path.shown, axis=0) >= 0)
    assert np.all(np.diff(path.shown, axis=1) <= 0)
    assert path.shown[-1, 2] > value


def test_what_is_shown_is_what_samples_of_such_a_model_show():
    confidence, correct, _ = samples()
    path = walk(cells_of(ece, confidence, correct, {}), ece(confidence, correct), (0.5,), 2000, 0)
    step = N_STEPS // 2
    bins = ece(confidence, correct, return_result=True).bins
    excess = path.excess[step] / np.maximum(np.bincount(bins, minlength=15), 1)
    rng = np.random.default_rng(1)
    draws = [ece(confidence, rng.random(2000) < confidence + excess[bins]) for _ in range(400)]
    assert path.shown[step, 0] == pytest.approx(np.median(draws), rel=0.02)


def test_the_expected_sums_of_an_error_have_that_error():
    confidence, correct, _ = samples()
    cells = cells_of(ece, confidence, correct, {})
    path = walk(cells, ece(confidence, correct), (0.5,), 200, 0)
    for truth in (0.0, 0.03, 0.1):
        assert float(cells.error(path.excess_of(truth))) == pytest.approx(truth, abs=1e-9)


def test_least_and_most_errors_enclose_those_that_show_a_value():
    confidence, correct, _ = samples()
    path = walk(cells_of(ece, confidence, correct, {}), ece(confidence, correct), (0.5,), 200, 0)
    between = np.interp(0.08, path.shown[:, 0], path.truth)
    assert path.least_truth_of(0.08, 0) == pytest.approx(between, abs=1e-6)
    assert path.most_truth_of(0.08, 0) == pytest.approx(between, abs=1e-6)
    assert path.least_truth_of(0.0, 0) == 0


def test_a_metric_that_shows_the_same_for_every_error_says_nothing_of_it():
    confidence, proximity = np.full(30, 0.5), np.arange(30)
    path = walk(cells_of(piece, confidence, np.arange(30) % 2 > 0, {"proximity": proximity}), 0.5, QUANTILES, 200, 0)
    assert path.least_truth_of(0.5, 0) == 0
    assert path.most_truth_of(0.5, 2) == pytest.approx(0.5)


def test_certainty_without_a_mistake_is_off_by_no_more_than_clopper_and_pearson_say():
    path = walk(cells_of(ece, np.ones(30), np.ones(30, bool), {}), 0.0, QUANTILES, 5000, 0)
    assert path.least_truth_of(0.0, 0) == 0
    assert path.most_truth_of(0.0, 2) == pytest.approx(1 - 0.025 ** (1 / 30), abs=0.005)
