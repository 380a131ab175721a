"""Base calibrators against netcal and probmetrics, where they define them alike, and probmetrics' own as plug-ins.

Not compared, because they go wrong there: rows that are all zero after one-vs-rest calibration, which netcal divides by
0; netcal's histogram binning with equal counts, which fits and then refuses to predict, and its empty bins, which it
gives the middle of the bin; probmetrics' ensemble at temperatures beyond its bounds of 0.05 and 5.
"""

import numpy as np
import pytest
from scipy.special import softmax

from proxcal.base import (
    EnsembleTemperatureScaling,
    HistogramBinning,
    IsotonicRegression,
    TemperatureScaling,
    make_base,
)

pytestmark = pytest.mark.filterwarnings("ignore")


def simulated(n=4000, n_classes=4, temperature=1.5, seed=0):
    rng = np.random.default_rng(seed)
    logits = 3 * rng.normal(size=(n, n_classes))
    return logits, (logits / temperature + rng.gumbel(size=logits.shape)).argmax(axis=1)


def log_loss(probs, labels):
    return -np.log(probs[np.arange(len(labels)), labels]).mean()


def brier(probs, labels):
    return ((probs - np.eye(probs.shape[1])[labels]) ** 2).sum(axis=1).mean()


@pytest.mark.parametrize("method", ["HistogramBinning", "IsotonicRegression"])
def test_one_vs_rest_rows_are_netcals(method):
    netcal = pytest.importorskip("netcal.binning")
    logits, labels = simulated()
    probs, queries = softmax(logits, axis=1), softmax(simulated(seed=1)[0], axis=1)
    theirs = netcal.HistogramBinning(bins=10) if method == "HistogramBinning" else netcal.IsotonicRegression()
    expected = theirs.fit(probs, labels).transform(queries)
    ours = HistogramBinning(n_bins=10) if method == "HistogramBinning" else IsotonicRegression()
    rows = ours.set_params(input="probs").fit(probs, labels).predict_proba(queries)
    defined = np.isfinite(expected).all(axis=1)
    assert defined.mean() > 0.99
    np.testing.assert_allclose(rows[defined], expected[defined], atol=1e-7)


@pytest.mark.parametrize("n_classes", [2, 10, 100])
@pytest.mark.parametrize("true_temperature", [0.3, 1.0, 4.0])
def test_temperature_is_probmetrics(n_classes, true_temperature):
    probmetrics = pytest.importorskip("probmetrics.calibrators")
    logits, labels = simulated(n_classes=n_classes, temperature=true_temperature)
    probs = softmax(logits, axis=1)
    theirs = probmetrics.TemperatureScalingCalibrator().fit(probs, labels)
    ours = TemperatureScaling(input="probs").fit(probs, labels)
    assert ours.temperature_ == pytest.approx(1 / float(theirs.invtemp_), rel=1e-4)
    assert log_loss(ours.predict_proba(probs), labels) <= log_loss(theirs.predict_proba(probs), labels) + 1e-7


@pytest.mark.parametrize(("loss", "their_name", "measure"), [("log", "ce", log_loss), ("brier", "mse", brier)])
@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_ensemble_is_no_worse_than_probmetrics(loss, their_name, measure, noise):
    probmetrics = pytest.importorskip("probmetrics.calibrators")
    logits, labels = simulated()
    rng = np.random.default_rng(2)
    labels = np.where(rng.random(len(labels)) < noise, rng.integers(4, size=len(labels)), labels)
    probs = softmax(logits, axis=1)
    theirs = probmetrics.ETSCalibrator(loss=their_name).fit(probs, labels)
    ours = EnsembleTemperatureScaling(loss=loss, input="probs").fit(probs, labels)
    assert measure(ours.predict_proba(probs), labels) <= measure(theirs.predict_proba(probs), labels) + 1e-7


@pytest.mark.parametrize(
    "name",
    ["TemperatureScalingCalibrator", "SVSCalibrator", "SMSCalibrator", "ETSCalibrator", "VectorScalingCalibrator"],
)
@pytest.mark.parametrize("input", ["logits", "probs"])
def test_probmetrics_calibrators_are_bases(name, input):
    probmetrics = pytest.importorskip("probmetrics.calibrators")
    logits, labels = simulated()
    probs = softmax(logits, axis=1)
    scores = logits if input == "logits" else probs
    calibrator = getattr(probmetrics, name)()
    rows = make_base(calibrator, input).fit(scores, labels).predict_proba(scores)
    expected = calibrator.fit(probs, labels).predict_proba(probs)
    np.testing.assert_allclose(rows, expected, atol=1e-5)
    np.testing.assert_allclose(rows.sum(axis=1), 1, atol=1e-12)
