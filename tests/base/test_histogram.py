import numpy as np
import pytest
from scipy.special import softmax

from proxcal._validation import ProxcalWarning
from proxcal.base.histogram import HistogramBinning

pytestmark = pytest.mark.filterwarnings("ignore::proxcal._validation.ProxcalWarning")


def slow_histogram_binning(probs, labels, queries, edges):
    """Class by class and bin by bin, as the method is defined; `edges` are each class's inner bin edges."""
    values = np.array(queries)
    for k, inner in enumerate(edges):
        fitted, asked = (np.searchsorted(inner, column[:, k], side="right") for column in (probs, queries))
        for b in np.unique(asked):
            if (labels == k).any() and (fitted == b).any():
                values[asked == b, k] = (labels == k)[fitted == b].mean()
    empty = values.sum(axis=1) == 0
    values[empty] = queries[empty]
    return values / values.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("n_bins", [1, 7, 15])
def test_equal_width_bins_give_the_share_of_the_class_in_each_bin(simulate, n_bins):
    logits, labels = simulate(n=600)
    queries = softmax(simulate(seed=1)[0], axis=1)
    probs = softmax(logits, axis=1)
    edges = [np.arange(1, n_bins) / n_bins] * 5
    fitted = HistogramBinning(n_bins=n_bins).fit(logits, labels)
    expected = slow_histogram_binning(probs, labels, queries, edges)
    np.testing.assert_allclose(fitted.predict_proba(np.log(queries)), expected, atol=1e-12)


def test_equal_count_bins_give_the_share_of_the_class_in_each_bin(simulate):
    logits, labels = simulate(n=600)
    queries = softmax(simulate(seed=1)[0], axis=1)
    probs = softmax(logits, axis=1)
    edges = [[column[600 * b // 15] for b in range(1, 15)] for column in np.sort(probs, axis=0).T]
    fitted = HistogramBinning(strategy="quantile", input="probs").fit(probs, labels)
    expected = slow_histogram_binning(probs, labels, queries, edges)
    np.testing.assert_allclose(fitted.predict_proba(queries), expected, atol=1e-12)


def test_equal_count_bins_have_equal_counts(simulate):
    logits, labels = simulate(n=600)
    edges = HistogramBinning(strategy="quantile").fit(logits, labels).edges_
    bins = (softmax(logits, axis=1)[:, :, None] >= edges.T).sum(axis=2)
    np.testing.assert_array_equal(np.apply_along_axis(np.bincount, 0, bins), 600 // 15)


def test_a_class_absent_from_calibration_keeps_its_own_probability(simulate):
    logits, labels = simulate()
    fitted = HistogramBinning().fit(logits, np.where(labels == 4, 0, labels))
    assert np.isnan(fitted.values_[4]).all()
    assert (fitted.predict_proba(logits)[:, 4] > 0).all()


def test_a_row_of_zeros_stays_as_the_model_gave_it():
    probs = np.array([[0.9, 0.1], [0.1, 0.9], [0.5, 0.5], [0.5, 0.5]])
    fitted = HistogramBinning(n_bins=10, input="probs").fit(probs, [1, 0, 1, 0])
    fitted.values_ = np.zeros_like(fitted.values_)
    np.testing.assert_array_equal(fitted.predict_proba(probs), probs)


def test_changed_predictions_are_warned_of_with_their_share(simulate):
    logits, labels = simulate(n=200, n_classes=100)
    with pytest.warns(ProxcalWarning, match=r"HistogramBinning changes \d+\.\d% of the predictions"):
        HistogramBinning().fit(logits, labels)


@pytest.mark.filterwarnings("error")
def test_no_warning_where_predictions_hold(simulate):
    logits, labels = simulate(n=5000, n_classes=2)
    HistogramBinning().fit(10 * logits, labels)


@pytest.mark.parametrize("argument", [{"n_bins": 0}, {"n_bins": 2.5}, {"strategy": "kmeans"}])
def test_bad_arguments_are_named(simulate, argument):
    with pytest.raises(ValueError, match=next(iter(argument))):
        HistogramBinning(**argument).fit(*simulate())
