import numpy as np
import pytest
from scipy.optimize import minimize

from proxcal._held_out import assign_folds, believed_share, standard_error
from proxcal.informed._ridge import fit_ridge, log_loss, log_odds, newton


def problem(n=400, seed=0):
    rng = np.random.default_rng(seed)
    columns = rng.normal(size=(n, 3))
    offset = rng.normal(size=n)
    correct = rng.random(n) < 1 / (1 + np.exp(-(offset + columns @ [0.5, -0.3, 0.0])))
    return columns, offset, correct


@pytest.mark.parametrize("strength", [0.01, 1, 100])
def test_newton_finds_the_minimum_that_a_general_optimiser_finds(strength):
    columns, offset, correct = problem()
    ridge = strength * np.array([1.0, 2.0, 4.0])

    def objective(w):
        return log_loss(offset + columns @ w, correct).sum() + 0.5 * ridge @ w**2

    found = newton(columns, ridge, offset, correct, np.zeros(3))
    assert objective(found) <= minimize(objective, np.zeros(3)).fun + 1e-5


def test_newton_converges_where_the_classes_are_separable():
    columns = np.linspace(-1, 1, 50)[:, None]
    found = newton(columns, np.array([1e-3]), np.zeros(50), columns[:, 0] > 0, np.zeros(1))
    assert np.isfinite(found).all()
    assert found[0] > 10


def test_log_odds_of_certainty_are_finite():
    assert np.isfinite(log_odds(np.array([0.0, 1.0]))).all()


def test_log_loss_is_minus_the_log_of_the_probability_of_what_happened():
    odds = np.array([0.3, -2.0])
    p = 1 / (1 + np.exp(-odds))
    np.testing.assert_allclose(log_loss(odds, np.array([True, False])), [-np.log(p[0]), -np.log(1 - p[1])])


def test_a_correction_that_gains_nothing_is_not_made():
    columns, offset, _ = problem(2000)
    rng = np.random.default_rng(4)
    correct = rng.random(2000) < 1 / (1 + np.exp(-offset))
    found = fit_ridge(columns, np.ones(3), offset, correct, assign_folds(2000, 0), gate=1.0)
    assert found.share == 0
    np.testing.assert_array_equal(found.weights, 0)
    np.testing.assert_array_equal(found.held_out, offset)


def test_a_correction_that_gains_much_is_made_nearly_whole():
    columns, offset, correct = problem(5000)
    found = fit_ridge(columns, np.ones(3), offset, correct, assign_folds(5000, 0), gate=1.0)
    assert found.share > 0.8
    np.testing.assert_allclose(found.weights, found.share * np.array([0.5, -0.3, 0.0]), atol=0.08)


def test_held_out_predictions_do_not_know_their_own_fold():
    columns, offset, correct = problem()
    folds = assign_folds(len(offset), 0)
    before = fit_ridge(columns, np.ones(3), offset, correct, folds, gate=0.0)
    k = int(np.flatnonzero(folds == 3)[0])
    turned = correct.copy()
    turned[k] = ~turned[k]
    after = fit_ridge(columns, np.ones(3), offset, turned, folds, gate=0.0)
    assert before.strength == after.strength
    raw_before = offset[k] + (before.held_out[k] - offset[k]) / before.share
    raw_after = offset[k] + (after.held_out[k] - offset[k]) / after.share
    assert raw_before == pytest.approx(raw_after, abs=1e-3)


@pytest.mark.parametrize(("gain", "share"), [([1, 1, 1.0], 1), ([-1, -1, -1.0], 0), ([0, 0, 0.0], 0), ([1.0], 0)])
def test_share_of_certain_gains_and_losses(gain, share):
    assert believed_share(np.array(gain), gate=1.0) == share


def test_share_is_the_gain_beyond_the_gate():
    gain = np.random.default_rng(0).normal(1, 2, 100)
    error = gain.std(ddof=1) * np.sqrt(1 / 100 + (1 / 9) / 10)  # Nadeau and Bengio: ten folds of 10 against 90
    expected = (gain.mean() - 1.5 * error) / gain.mean()
    assert believed_share(gain, gate=1.5) == pytest.approx(expected)


def test_standard_error_of_one_value_is_infinite():
    assert standard_error(np.array([3.0])) == np.inf


@pytest.mark.parametrize("n", [1, 9, 10, 101])
def test_folds_differ_in_size_by_at_most_one(n):
    sizes = np.bincount(assign_folds(n, 0))
    assert sizes.max() - sizes.min() <= 1
    assert len(sizes) == min(10, n)
