"""Base calibrators fitted batch by batch, against the same fitted on all samples at once."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.base import clone

import proxcal as px
from proxcal.base import HistogramBinning, TemperatureScaling

STREAMING = [TemperatureScaling(), HistogramBinning(), HistogramBinning(strategy="quantile")]
quiet = pytest.mark.filterwarnings("ignore::proxcal._validation.ProxcalWarning")


def streamed(calibrator, scores, labels, *ends):
    calibrator = clone(calibrator)
    for rows, y in zip(np.split(scores, ends), np.split(labels, ends), strict=True):
        assert calibrator.partial_fit(rows, y) is calibrator
    return calibrator


@pytest.mark.parametrize("scale", [1e-3, 1, 20])
@pytest.mark.parametrize("true_temperature", [0.2, 1.0, 4.0])
@pytest.mark.parametrize("n_classes", [2, 10, 100])
def test_the_temperature_of_batches_is_that_of_all_samples(simulate, n_classes, true_temperature, scale):
    logits, labels = simulate(n=1200, n_classes=n_classes, temperature=true_temperature)
    logits *= scale
    whole = TemperatureScaling().fit(logits, labels).temperature_
    assert streamed(TemperatureScaling(), logits, labels, 400, 401, 800).temperature_ == pytest.approx(whole, rel=2e-6)


def test_the_temperature_of_batches_of_probabilities_is_that_of_all(simulate):
    logits, labels = simulate(n=600)
    probs = softmax(logits, axis=1)
    whole = TemperatureScaling(input="probs").fit(probs, labels).temperature_
    assert streamed(TemperatureScaling(input="probs"), probs, labels, 200).temperature_ == pytest.approx(
        whole, rel=2e-6
    )


def test_masked_classes_are_absent_from_batches_too(simulate):
    logits, labels = simulate(n_classes=4)
    masked = np.column_stack([logits, np.full((len(logits), 3), np.finfo(np.float64).min)])
    absent = TemperatureScaling().fit(logits, labels).temperature_
    assert streamed(TemperatureScaling(), masked, labels, 100).temperature_ == pytest.approx(absent, rel=2e-6)


@pytest.mark.parametrize("kind", ["right", "wrong", "tied"])
@quiet
def test_sets_without_an_optimum_get_the_same_temperature_in_batches(simulate, kind):
    logits, _ = simulate(n=90)
    labels = logits.argmin(axis=1) if kind == "wrong" else logits.argmax(axis=1)
    logits = np.zeros_like(logits) if kind == "tied" else logits
    whole = TemperatureScaling().fit(logits, labels).temperature_
    assert streamed(TemperatureScaling(), logits, labels, 30, 60).temperature_ == pytest.approx(whole, rel=2e-6)


def test_a_temperature_beyond_what_the_first_batch_allows_is_told(simulate):
    logits, labels = simulate(n=400)
    begun = TemperatureScaling().partial_fit(1e-4 * logits[:100], labels[:100])
    with pytest.warns(px.ProxcalWarning, match="the end of the range that the first batch has set"):
        begun.partial_fit(logits[100:], labels[100:])


def test_memory_does_not_grow_with_batches(simulate):
    logits, labels = simulate(n=600)
    few, many = streamed(TemperatureScaling(), logits, labels, 300), streamed(TemperatureScaling(), logits, labels)
    assert sum(map(np.size, few.state_arrays().values())) == sum(map(np.size, many.state_arrays().values()))


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
@quiet
def test_the_first_batch_alone_gives_the_bins_of_fit(simulate, strategy):
    scores, labels = simulate()
    fitted, begun = HistogramBinning(strategy=strategy).fit(scores, labels), HistogramBinning(strategy=strategy)
    np.testing.assert_array_equal(begun.partial_fit(scores, labels).values_, fitted.values_)


@quiet
def test_equal_width_bins_of_batches_are_those_of_all_samples(simulate):
    scores, labels = simulate(n=600)
    labels[:200] = 0  # classes 1 to 4 come later
    whole = HistogramBinning().fit(scores, labels)
    np.testing.assert_array_equal(streamed(HistogramBinning(), scores, labels, 200, 201).values_, whole.values_)


@quiet
def test_equal_count_bins_stay_those_of_the_first_batch(simulate):
    scores, labels = simulate(n=600)
    probs = softmax(scores, axis=1)
    calibrator = HistogramBinning(strategy="quantile", input="probs")
    first = clone(calibrator).fit(probs[:400], labels[:400])
    calibrator = streamed(calibrator, probs, labels, 400)
    for k, edges in enumerate(first.edges_.T):
        bins = np.searchsorted(edges, (probs / probs.sum(axis=1, keepdims=True))[:, k], side="right")
        np.testing.assert_allclose(calibrator.values_[k], [(labels == k)[bins == b].mean() for b in range(15)])


@pytest.mark.parametrize("calibrator", STREAMING)
@quiet
def test_a_saved_calibrator_goes_on_where_it_was(simulate, tmp_path, calibrator):
    logits, labels = simulate(n=300)
    calibrator = streamed(calibrator, logits[:200], labels[:200])
    loaded = type(calibrator).from_state(calibrator.get_params(), dict(calibrator.state_arrays()))
    for one in (calibrator, loaded):
        one.partial_fit(logits[200:], labels[200:])
    np.testing.assert_array_equal(loaded.predict_proba(logits), calibrator.predict_proba(logits))


@pytest.mark.parametrize("calibrator", STREAMING)
@quiet
def test_a_batch_of_other_classes_is_refused(simulate, calibrator):
    begun = clone(calibrator).partial_fit(*simulate())
    with pytest.raises(ValueError, match="has 4 columns; the calibrator was fitted with 5 classes"):
        begun.partial_fit(*simulate(n_classes=4))


def test_batches_cannot_be_added_to_a_temperature_of_fit(simulate):
    with pytest.raises(ValueError, match="was fitted by fit, which kept no sums"):
        TemperatureScaling().fit(*simulate()).partial_fit(*simulate())


def test_fit_forgets_the_batches(simulate):
    logits, labels = simulate(n=300)
    calibrator = TemperatureScaling().partial_fit(logits[:50], labels[:50]).fit(logits, labels)
    assert calibrator.temperature_ == TemperatureScaling().fit(logits, labels).temperature_
    assert set(calibrator.state_arrays()) == {"temperature_", "n_classes_"}
