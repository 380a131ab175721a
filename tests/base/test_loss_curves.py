import numpy as np
import pytest
from scipy.special import softmax

from proxcal.base._loss_curves import LOSSES, RANGE, LossCurves, losses
from proxcal.base._softmax_rows import SoftmaxRows


def slow_loss(logits, labels, temperature, loss):
    probs = softmax(logits / temperature[:, None], axis=1)
    one_hot = np.eye(logits.shape[1])[labels]
    return -np.log((probs * one_hot).sum(axis=1)) if loss == "log" else ((probs - one_hot) ** 2).sum(axis=1)


@pytest.mark.parametrize("loss", LOSSES)
def test_each_row_has_the_loss_at_its_own_temperature(simulate, loss):
    logits, labels = simulate()
    temperature = np.linspace(0.3, 5, len(labels))
    value, _ = losses(SoftmaxRows.of(logits, labels, "logits"), temperature, loss)
    np.testing.assert_allclose(value, slow_loss(logits, labels, temperature, loss), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_slope_is_that_along_the_logarithm_of_the_temperature(simulate, loss):
    logits, labels = simulate()
    temperature, h = np.linspace(0.3, 5, len(labels)), 1e-5
    up, down = (slow_loss(logits, labels, temperature * np.exp(step), loss) for step in (h, -h))
    _, slope = losses(SoftmaxRows.of(logits, labels, "logits"), temperature, loss)
    np.testing.assert_allclose(slope, (up - down) / (2 * h), atol=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
def test_curves_hold_between_their_knots(simulate, loss):
    logits, labels = simulate()
    s = np.linspace(-RANGE, RANGE, len(labels))
    value, slope = LossCurves.of(SoftmaxRows.of(logits, labels, "logits"), 1.5, loss).at(s)
    np.testing.assert_allclose(value, slow_loss(logits, labels, 1.5 * np.exp(s), loss), atol=2e-4)
    assert abs(value.mean() - slow_loss(logits, labels, 1.5 * np.exp(s), loss).mean()) < 1e-5
    shifted = [slow_loss(logits, labels, 1.5 * np.exp(s + step), loss) for step in (1e-5, -1e-5)]
    np.testing.assert_allclose(slope, (shifted[0] - shifted[1]) / 2e-5, atol=5e-3)
