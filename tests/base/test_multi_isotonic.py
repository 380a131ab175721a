import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import softmax
from sklearn.isotonic import IsotonicRegression as Sklearns

from proxcal.base.multi_isotonic import MultiIsotonicRegression


def sklearns(probs, labels):
    one_hot = np.eye(probs.shape[1])[labels]
    return Sklearns(out_of_bounds="clip").fit(probs.ravel(), one_hot.ravel())


@pytest.mark.parametrize("n_classes", [2, 5, 50])
@pytest.mark.parametrize("ties", [True, False], ids=["tied", "distinct"])
def test_the_shared_function_is_scikit_learns_on_the_flattened_matrix(simulate, n_classes, ties):
    logits, labels = simulate(n=400, n_classes=n_classes)
    probs = softmax(logits, axis=1)
    if ties:
        probs = np.random.default_rng(0).multinomial(16, probs) / 16
    fitted = MultiIsotonicRegression(input="probs").fit(probs, labels)
    x = np.linspace(0, 1, 5001)
    np.testing.assert_allclose(np.interp(x, *fitted.knots_), sklearns(probs, labels).predict(x), atol=1e-9)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 2)), min_size=1, max_size=8))
def test_any_pattern_of_ties_gives_scikit_learns_fit(samples):
    counts = np.array([(a, b, 8 - a - b) for a, b, _ in samples])
    probs, labels = counts / 8, np.array([label for _, _, label in samples])
    fitted = MultiIsotonicRegression(input="probs").fit(probs, labels)
    expected = sklearns(probs, labels).predict(probs.ravel())
    np.testing.assert_allclose(np.interp(probs.ravel(), *fitted.knots_), expected, atol=1e-9)


def test_rows_are_the_function_of_the_probabilities_made_to_sum_to_one(simulate):
    logits, labels = simulate()
    fitted = MultiIsotonicRegression().fit(logits, labels)
    values = np.interp(softmax(logits, axis=1), *fitted.knots_)
    np.testing.assert_allclose(fitted.predict_proba(logits), values / values.sum(axis=1, keepdims=True), rtol=1e-9)


def test_kept_ties_never_reverse_a_ranking(simulate):
    logits, labels = simulate()
    probs = MultiIsotonicRegression().fit(logits, labels).predict_proba(logits)
    assert (np.diff(np.take_along_axis(probs, logits.argsort(axis=1), axis=1)) >= 0).all()


def test_broken_ties_keep_every_ranking(simulate):
    logits, labels = simulate()
    fitted = MultiIsotonicRegression(ties="break").fit(logits, labels)
    assert fitted.preserves_order
    np.testing.assert_array_equal(fitted.predict_proba(logits).argsort(axis=1), logits.argsort(axis=1))


def test_fit_needs_no_second_copy_of_the_logits(simulate):
    logits, labels = simulate(n=20_000, n_classes=200)
    tracemalloc.start()
    MultiIsotonicRegression().fit(logits, labels)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < logits.nbytes / 2
