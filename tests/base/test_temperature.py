import tracemalloc

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.calibration import _TemperatureScaling

from proxcal._validation import ProxcalWarning
from proxcal.base import temperature
from proxcal.base.temperature import TemperatureScaling


def loss(logits, labels, t):
    return -log_softmax(np.asarray(logits, dtype=np.float64) / t, axis=1)[np.arange(len(labels)), labels].mean()


@pytest.mark.parametrize("scale", [1e-3, 1, 20, 1e3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_finds_the_optimum_whatever_the_scale_of_the_logits(simulate, scale, dtype):
    logits, labels = simulate(n=2000)
    logits = (logits * scale).astype(dtype)
    fitted = TemperatureScaling().fit(logits, labels).temperature_
    best = minimize_scalar(lambda u: loss(logits, labels, scale * np.exp(u)), bounds=(-5, 5), options={"xatol": 1e-12})
    assert loss(logits, labels, fitted) <= best.fun + 1e-11


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_absurd_scales_only_scale_the_temperature(simulate, scale):
    logits, labels = simulate()
    plain = TemperatureScaling().fit(logits, labels).temperature_
    assert TemperatureScaling().fit(logits * scale, labels).temperature_ == pytest.approx(plain * scale, rel=1e-5)


@pytest.mark.parametrize("n_classes", [2, 10, 100])
@pytest.mark.parametrize("true_temperature", [0.2, 1.0, 4.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_log_loss_is_no_worse_than_scikit_learns(simulate, n_classes, true_temperature, dtype):
    logits, labels = simulate(n=3000, n_classes=n_classes, temperature=true_temperature)
    logits = logits.astype(dtype)
    ours = TemperatureScaling().fit(logits, labels).temperature_
    theirs = 1 / float(_TemperatureScaling().fit(logits, labels).beta_)
    assert loss(logits, labels, ours) <= loss(logits, labels, theirs) + 1e-7


def test_warm_start_on_few_rows_does_not_change_the_optimum(simulate, monkeypatch):
    logits, labels = simulate(n=9000)
    warm = TemperatureScaling().fit(logits, labels).temperature_
    monkeypatch.setattr(temperature, "_WARM_ROWS", 10**9)
    assert TemperatureScaling().fit(logits, labels).temperature_ == pytest.approx(warm, rel=1e-5)


def test_probabilities_give_the_temperature_of_their_logits(simulate):
    logits, labels = simulate()
    from_logits = TemperatureScaling().fit(logits, labels).temperature_
    from_probs = TemperatureScaling(input="probs").fit(softmax(logits, axis=1), labels).temperature_
    assert from_probs == pytest.approx(from_logits, rel=1e-6)


def test_rows_are_softmax_of_the_scaled_logits(simulate):
    logits, labels = simulate()
    fitted = TemperatureScaling().fit(logits, labels)
    np.testing.assert_allclose(fitted.predict_proba(logits), softmax(logits / fitted.temperature_, axis=1), rtol=1e-12)


def test_classes_masked_by_the_smallest_float_are_as_good_as_absent(simulate):
    logits, labels = simulate(n_classes=4)
    masked = np.column_stack([logits, np.full((len(logits), 3), np.finfo(np.float64).min)])
    absent = TemperatureScaling().fit(logits, labels).temperature_
    assert TemperatureScaling().fit(masked, labels).temperature_ == pytest.approx(absent, rel=1e-6)


def test_all_right_set_gets_platts_smoothed_targets(simulate):
    logits, _ = simulate(n=50)
    with pytest.warns(ProxcalWarning, match="smoothed by 1/51"):
        fitted = TemperatureScaling().fit(logits, logits.argmax(axis=1)).temperature_
    ranked = np.argsort(logits, axis=1)
    smoothed = [
        loss(logits, ranked[:, -1], t) * 50 + loss(logits, ranked[:, -2], t)
        for t in fitted * np.array([0.999, 1, 1.001])
    ]
    assert np.argmin(smoothed) == 1


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_all_right_set_of_any_scale_only_scales_the_temperature(simulate, scale):
    logits, _ = simulate(n=50)
    labels = logits.argmax(axis=1)
    with pytest.warns(ProxcalWarning):
        plain = TemperatureScaling().fit(logits, labels).temperature_
    with pytest.warns(ProxcalWarning):
        scaled = TemperatureScaling().fit(logits * scale, labels).temperature_
    assert scaled == pytest.approx(plain * scale, rel=1e-5)


def test_more_right_answers_make_an_all_right_set_surer(simulate):
    logits, _ = simulate(n=400)
    labels = logits.argmax(axis=1)
    with pytest.warns(ProxcalWarning):
        few = TemperatureScaling().fit(logits[:40], labels[:40]).temperature_
    with pytest.warns(ProxcalWarning):
        many = TemperatureScaling().fit(logits, labels).temperature_
    assert 0 < many < few


def test_all_wrong_set_gives_nearly_uniform_rows_in_the_same_ranking(simulate):
    logits, _ = simulate()
    with pytest.warns(ProxcalWarning, match="stops at its bound"):
        fitted = TemperatureScaling().fit(logits, logits.argmin(axis=1))
    probs = fitted.predict_proba(logits)
    np.testing.assert_allclose(probs, 1 / 5, rtol=1e-4)
    np.testing.assert_array_equal(probs.argsort(axis=1), logits.argsort(axis=1))


def test_rows_of_equal_scores_leave_the_temperature_at_one():
    with pytest.warns(ProxcalWarning, match="T = 1"):
        assert TemperatureScaling().fit(np.zeros((6, 3)), [0, 1, 2, 0, 1, 2]).temperature_ == 1


def test_failure_to_converge_raises(simulate, monkeypatch):
    monkeypatch.setattr(temperature, "_MAX_STEPS", 1)
    with pytest.raises(RuntimeError, match="temperature did not converge in 1 steps"):
        TemperatureScaling().fit(*simulate())


def test_fit_needs_no_second_copy_of_the_logits(simulate):
    logits, labels = simulate(n=20_000, n_classes=200)
    tracemalloc.start()
    TemperatureScaling().fit(logits, labels)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < logits.nbytes / 2
