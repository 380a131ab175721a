import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import softmax

from proxcal._validation import ProxcalWarning
from proxcal.base.ensemble_temperature import EnsembleTemperatureScaling
from proxcal.base.temperature import TemperatureScaling


def mixture(logits, temperature, weights):
    uniform = 1 / logits.shape[1]
    return (
        weights[0] * softmax(logits / temperature, axis=1) + weights[1] * softmax(logits, axis=1) + weights[2] * uniform
    )


def log_loss(probs, labels):
    return -np.log(probs[np.arange(len(labels)), labels]).mean()


def brier(probs, labels):
    return ((probs - np.eye(probs.shape[1])[labels]) ** 2).sum(axis=1).mean()


LOSSES = {"log": log_loss, "brier": brier}
every_loss = pytest.mark.parametrize("loss", LOSSES)


def noisy(simulate, **kwargs):
    """A set that wants a mixture: one label in ten is any class at all."""
    logits, labels = simulate(n=2000, **kwargs)
    rng = np.random.default_rng(5)
    return logits, np.where(rng.random(len(labels)) < 0.1, rng.integers(logits.shape[1], size=len(labels)), labels)


@every_loss
def test_rows_are_the_mixture(simulate, loss):
    logits, labels = noisy(simulate)
    fitted = EnsembleTemperatureScaling(loss=loss).fit(logits, labels)
    expected = mixture(logits, fitted.temperature_, fitted.weights_)
    np.testing.assert_allclose(fitted.predict_proba(logits), expected, rtol=1e-12)


@every_loss
@pytest.mark.parametrize("true_temperature", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("n_classes", [2, 20])
def test_no_start_of_a_joint_search_finds_a_lower_loss(simulate, loss, true_temperature, n_classes):
    logits, labels = noisy(simulate, temperature=true_temperature, n_classes=n_classes)
    ours = LOSSES[loss](EnsembleTemperatureScaling(loss=loss).fit(logits, labels).predict_proba(logits), labels)

    def objective(x):
        return LOSSES[loss](mixture(logits, np.exp(x[0]), softmax(x[1:])), labels)

    starts = [(-1.0, 2.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0), (1.0, 2.0, 2.0, 0.0)]
    assert ours <= min(minimize(objective, start, method="L-BFGS-B").fun for start in starts) + 1e-7


@every_loss
def test_loss_is_no_worse_than_temperature_scalings(simulate, loss):
    for seed in range(5):
        logits, labels = simulate(n=300, seed=seed)
        ours = EnsembleTemperatureScaling(loss=loss).fit(logits, labels).predict_proba(logits)
        alone = TemperatureScaling().fit(logits, labels).predict_proba(logits)
        assert LOSSES[loss](ours, labels) <= LOSSES[loss](alone, labels) + 1e-7


def test_weights_lie_on_the_simplex(simulate):
    weights = EnsembleTemperatureScaling().fit(*noisy(simulate)).weights_
    assert (weights >= 0).all()
    assert weights.sum() == pytest.approx(1, abs=1e-14)


def test_noise_in_the_labels_shows_in_the_weight_of_the_uniform_row(simulate):
    weights = EnsembleTemperatureScaling().fit(*noisy(simulate)).weights_
    assert weights[2] == pytest.approx(0.1, abs=0.04)


def test_all_right_set_is_temperature_scalings_alone(simulate):
    logits, _ = simulate()
    with pytest.warns(ProxcalWarning, match="smoothed"):
        fitted = EnsembleTemperatureScaling().fit(logits, logits.argmax(axis=1))
    np.testing.assert_array_equal(fitted.weights_, [1, 0, 0])


def test_bad_loss_is_named(simulate):
    with pytest.raises(ValueError, match="loss must be one of 'log', 'brier'; got 'mse'"):
        EnsembleTemperatureScaling(loss="mse").fit(*simulate())
