import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from scipy.special import log_softmax, softmax

from proxcal._validation import ProxcalWarning
from proxcal.base import vector
from proxcal.base._softmax_rows import SoftmaxRows
from proxcal.base.temperature import TemperatureScaling
from proxcal.base.vector import VectorScaling


def slow_objective(x, t, labels, ridge):
    change, bias = np.split(x, 2)
    rows = log_softmax((1 + change) * t + bias, axis=1)
    penalty = ridge / 2 * (10 * (change**2).sum() + (bias**2).sum()) / len(t)
    return -rows[np.arange(len(t)), labels].mean() + penalty


def biased(simulate, **kwargs):
    """Logits that favour some classes wrongly."""
    logits, labels = simulate(n=2000, **kwargs)
    return logits + np.linspace(-1, 1, logits.shape[1]), labels


@pytest.mark.parametrize("n_classes", [2, 6])
def test_finds_the_optimum_of_the_loss_written_slowly(simulate, n_classes):
    logits, labels = biased(simulate, n_classes=n_classes)
    fitted = VectorScaling(ridge=2.0).fit(logits, labels)
    t = log_softmax(logits / fitted.temperature_, axis=1)
    ours = np.concatenate([fitted.scale_ - 1, fitted.bias_])
    best = minimize(slow_objective, np.zeros(2 * n_classes), args=(t, labels, 2.0), method="BFGS")
    assert slow_objective(ours, t, labels, 2.0) <= best.fun + 1e-7


def test_gradient_and_curvature_are_those_of_the_loss(simulate):
    logits, labels = biased(simulate)
    t = log_softmax(logits / 1.5, axis=1)
    objective = vector._Objective(SoftmaxRows.of(logits, labels, "logits"), 1.5, 3.0)
    x = np.linspace(-0.5, 0.5, 10)
    loss, gradient = objective.loss_and_gradient(x)
    assert loss == pytest.approx(slow_objective(x, t, labels, 3.0), abs=1e-6)
    np.testing.assert_allclose(gradient, approx_fprime(x, slow_objective, 1e-7, t, labels, 3.0), atol=1e-5)
    steps = 1e-3 * np.eye(10)
    ups, downs = ([slow_objective(sign * step, t, labels, 3.0) for step in steps] for sign in (1, -1))
    second = (np.array(ups) + downs - 2 * slow_objective(np.zeros(10), t, labels, 3.0)) / 1e-6
    np.testing.assert_allclose(objective.curvature(), second, rtol=1e-3)


def test_rows_are_the_formula(simulate):
    logits, labels = biased(simulate)
    fitted = VectorScaling().fit(logits, labels)
    t = log_softmax(logits / fitted.temperature_, axis=1)
    expected = softmax(fitted.scale_ * t + fitted.bias_, axis=1)
    np.testing.assert_allclose(fitted.predict_proba(logits), expected, rtol=1e-9)


def test_wrongly_favoured_classes_are_put_right(simulate):
    logits, labels = biased(simulate)
    fresh, fresh_labels = biased(simulate, seed=1)
    losses = [
        -np.log(c.fit(logits, labels).predict_proba(fresh)[np.arange(2000), fresh_labels]).mean()
        for c in (VectorScaling(), TemperatureScaling())
    ]
    assert losses[0] < losses[1] - 0.02


def test_an_endless_ridge_leaves_plain_temperature_scaling(simulate):
    logits, labels = biased(simulate)
    probs = VectorScaling(ridge=1e12).fit(logits, labels).predict_proba(logits)
    plain = TemperatureScaling().fit(logits, labels).predict_proba(logits)
    np.testing.assert_allclose(probs, plain, atol=1e-8)


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_neither_the_scale_of_the_logits_nor_a_shift_of_a_row_changes_anything(simulate, scale):
    logits, labels = biased(simulate)
    moved = scale * logits + np.arange(2000)[:, None] % 7
    plain = VectorScaling().fit(logits, labels).predict_proba(logits)
    np.testing.assert_allclose(VectorScaling().fit(moved, labels).predict_proba(moved), plain, atol=1e-4)


def test_too_few_steps_are_warned_of(simulate, monkeypatch):
    monkeypatch.setattr(vector, "_MAX_STEPS", 1)
    with pytest.warns(ProxcalWarning, match="did not converge in 1 steps"):
        VectorScaling().fit(*biased(simulate))


@pytest.mark.parametrize("ridge", [0, -1, "strong"])
def test_bad_ridge_is_named(simulate, ridge):
    with pytest.raises(ValueError, match="ridge must be a number"):
        VectorScaling(ridge=ridge).fit(*simulate())
