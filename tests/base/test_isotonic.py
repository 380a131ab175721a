import numpy as np
import pytest
from scipy.special import softmax
from sklearn.isotonic import IsotonicRegression as Sklearns

from proxcal._validation import ProxcalWarning
from proxcal.base.isotonic import IsotonicRegression

pytestmark = pytest.mark.filterwarnings("ignore::proxcal._validation.ProxcalWarning")


@pytest.mark.parametrize("n_classes", [2, 5, 30])
@pytest.mark.parametrize("ties", [True, False], ids=["tied", "distinct"])
def test_each_class_is_scikit_learns_isotonic_regression(simulate, n_classes, ties):
    logits, labels = simulate(n=500, n_classes=n_classes)
    probs = softmax(logits, axis=1)
    if ties:
        probs = np.random.default_rng(0).multinomial(16, probs) / 16
    queries = softmax(simulate(n=300, n_classes=n_classes, seed=1)[0], axis=1)
    expected = np.column_stack(
        [Sklearns(out_of_bounds="clip").fit(probs[:, k], labels == k).predict(queries[:, k]) for k in range(n_classes)]
    )
    expected = np.where(expected.sum(axis=1, keepdims=True) > 0, expected, queries)
    expected /= expected.sum(axis=1, keepdims=True)
    fitted = IsotonicRegression(input="probs").fit(probs, labels)
    np.testing.assert_allclose(fitted.predict_proba(queries), expected, atol=1e-10)


def test_a_class_absent_from_calibration_keeps_its_own_probability(simulate):
    logits, labels = simulate()
    fitted = IsotonicRegression().fit(logits, np.where(labels == 2, 0, labels))
    np.testing.assert_array_equal(np.split(fitted.knots_, fitted.ends_, axis=1)[2], [[0, 1], [0, 1]])
    assert (fitted.predict_proba(logits)[:, 2] > 0).all()


def test_broken_ties_keep_the_order_of_samples_in_two_classes(simulate):
    logits, labels = simulate(n_classes=2)
    margin = np.sort(logits[:, 1] - logits[:, 0])
    logits = np.column_stack([np.zeros_like(margin), margin])
    probs = IsotonicRegression(ties="break").fit(logits, labels).predict_proba(logits)
    assert (np.diff(probs[:, 1]) > 0).all()


def test_changed_predictions_are_warned_of_with_their_share(simulate):
    logits, labels = simulate(n=200, n_classes=100)
    with pytest.warns(ProxcalWarning, match=r"IsotonicRegression changes \d+\.\d% of the predictions"):
        IsotonicRegression().fit(logits, labels)


def test_bad_ties_are_named(simulate):
    with pytest.raises(ValueError, match="ties must be one of 'keep', 'break'"):
        IsotonicRegression(ties="split").fit(*simulate())


def test_new_probabilities_between_the_smallest_floats_get_finite_rows():
    probs = np.array([[1.0, 5e-324], [1.0, 2e-320], [0.3, 0.7], [1.0, 0.0]])
    fitted = IsotonicRegression(input="probs").fit(probs, [0, 1, 1, 0])
    new = np.array([[1.0, 1e-320], [1.0, 1.5e-323], [1.0, 2e-320]])
    assert np.isfinite(fitted.predict_proba(new)).all()
