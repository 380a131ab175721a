import numpy as np
import pytest
from scipy.special import softmax

from proxcal._validation import ProxcalWarning
from proxcal.base.parameterized_temperature import ParameterizedTemperatureScaling
from proxcal.base.temperature import TemperatureScaling


def log_loss(probs, labels):
    return -np.log(probs[np.arange(len(labels)), labels]).mean()


def brier(probs, labels):
    return ((probs - np.eye(probs.shape[1])[labels]) ** 2).sum(axis=1).mean()


LOSSES = {"log": log_loss, "brier": brier}
every_loss = pytest.mark.parametrize("loss", LOSSES)


def two_kinds(n=3000, seed=0):
    """Sure and unsure rows; the logits of the sure ones are twice too large, the others' are right."""
    rng = np.random.default_rng(seed)
    sure = np.arange(n)[:, None] % 2
    logits = rng.normal(size=(n, 12)) * np.where(sure, 6, 2)
    true = logits / np.where(sure, 2, 1)
    return logits, (true + rng.gumbel(size=true.shape)).argmax(axis=1), softmax(true, axis=1)


@every_loss
def test_its_losses_are_those_of_its_rows_and_of_plain_temperature_scaling(loss):
    logits, labels, _ = two_kinds()
    fitted = ParameterizedTemperatureScaling(loss=loss).fit(logits, labels)
    plain = TemperatureScaling().fit(logits, labels).predict_proba(logits)
    assert fitted.loss_ == pytest.approx(LOSSES[loss](fitted.predict_proba(logits), labels), abs=1e-6)
    assert fitted.plain_loss_ == pytest.approx(LOSSES[loss](plain, labels), abs=1e-6)


@every_loss
@pytest.mark.parametrize("n", [20, 300])
def test_on_its_own_calibration_set_it_is_never_worse_than_plain_temperature_scaling(simulate, loss, n):
    for seed in range(3):
        fitted = ParameterizedTemperatureScaling(loss=loss).fit(*simulate(n=n, seed=seed))
        assert fitted.loss_ <= fitted.plain_loss_


@every_loss
def test_rows_that_need_different_temperatures_get_them(loss):
    logits, labels, _ = two_kinds()
    fresh, fresh_labels, truth = two_kinds(seed=1)
    fitted = ParameterizedTemperatureScaling(loss=loss).fit(logits, labels)
    plain = TemperatureScaling().fit(logits, labels)
    least = LOSSES[loss](truth, fresh_labels)
    excess, plain_excess = (LOSSES[loss](c.predict_proba(fresh), fresh_labels) - least for c in (fitted, plain))
    assert excess < 0.25 * plain_excess


def test_a_small_set_is_not_learned_by_heart(simulate):
    logits, labels = simulate(n=100)
    fresh, fresh_labels = simulate(n=3000, seed=1)
    fitted = ParameterizedTemperatureScaling().fit(logits, labels)
    plain = TemperatureScaling().fit(logits, labels)
    losses = [log_loss(c.predict_proba(fresh), fresh_labels) for c in (fitted, plain)]
    assert losses[0] < losses[1] + 0.02


def test_the_same_random_state_gives_the_same_bit_for_bit():
    logits, labels, _ = two_kinds(n=400)
    first, second = (ParameterizedTemperatureScaling(random_state=3).fit(logits, labels).network_ for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_the_scale_of_the_logits_changes_nothing(scale):
    logits, labels, _ = two_kinds(n=600)
    plain = ParameterizedTemperatureScaling().fit(logits, labels).predict_proba(logits)
    scaled = ParameterizedTemperatureScaling().fit(logits * scale, labels).predict_proba(logits * scale)
    np.testing.assert_allclose(scaled, plain, atol=1e-2)


def test_all_right_set_is_plain_temperature_scaling(simulate):
    logits, _ = simulate()
    labels = logits.argmax(axis=1)
    with pytest.warns(ProxcalWarning, match="smoothed"):
        fitted = ParameterizedTemperatureScaling().fit(logits, labels)
    with pytest.warns(ProxcalWarning, match="smoothed"):
        plain = TemperatureScaling().fit(logits, labels)
    np.testing.assert_array_equal(fitted.predict_proba(logits), plain.predict_proba(logits))


def test_bad_loss_is_named(simulate):
    with pytest.raises(ValueError, match="loss must be one of 'log', 'brier'; got 'mse'"):
        ParameterizedTemperatureScaling(loss="mse").fit(*simulate())
