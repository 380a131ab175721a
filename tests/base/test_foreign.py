import numpy as np
import pytest
from scipy.special import softmax
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression

from proxcal.base.foreign import ForeignCalibrator


class Duck:
    """The least that is asked for: `fit` remembers, `predict_proba` returns what `answer` makes of what it is given."""

    def __init__(self, answer=lambda given: given):
        self.answer = answer

    def fit(self, probs, y):
        self.given = probs
        return self

    def predict_proba(self, probs):
        return self.answer(probs)


class Tensor:
    """Stands for a torch tensor that needs a gradient: no array until detached."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("call detach first")

    def detach(self):
        return self

    def cpu(self):
        return self

    def double(self):
        return self.values


def test_an_object_is_given_probabilities_by_default(simulate):
    logits, labels = simulate()
    fitted = ForeignCalibrator(calibrator=Duck()).fit(logits, labels)
    np.testing.assert_allclose(fitted.fitted_.given, softmax(logits, axis=1))


def test_the_objects_attribute_asks_for_logits(simulate):
    logits, labels = simulate()
    duck = Duck(lambda given: softmax(given, axis=1))
    duck.scores = "logits"
    fitted = ForeignCalibrator(calibrator=duck).fit(logits, labels)
    np.testing.assert_array_equal(fitted.fitted_.given, logits)


def test_the_argument_goes_before_the_attribute(simulate):
    logits, labels = simulate()
    duck = Duck()
    duck.scores = "logits"
    fitted = ForeignCalibrator(calibrator=duck, scores="probs").fit(logits, labels)
    np.testing.assert_allclose(fitted.fitted_.given, softmax(logits, axis=1))


def test_logits_are_the_logarithm_where_probabilities_come_in(simulate):
    logits, labels = simulate()
    probs = softmax(logits, axis=1)
    duck = Duck(lambda given: softmax(given, axis=1))
    fitted = ForeignCalibrator(calibrator=duck, scores="logits", input="probs").fit(probs, labels)
    np.testing.assert_allclose(fitted.fitted_.given, np.log(probs))


def test_a_wish_for_anything_else_is_refused_by_name(simulate):
    duck = Duck()
    duck.scores = "margins"
    with pytest.raises(ValueError, match=r"Duck.scores must be one of 'logits', 'probs'; got 'margins'"):
        ForeignCalibrator(calibrator=duck).fit(*simulate())


def test_the_users_object_is_not_fitted_in_place(simulate):
    ours, theirs = Duck(), LogisticRegression()
    ForeignCalibrator(calibrator=ours).fit(*simulate())
    ForeignCalibrator(calibrator=theirs).fit(*simulate())
    assert not hasattr(ours, "given")
    assert not hasattr(theirs, "coef_")


def test_a_scikit_learn_classifier_on_probabilities_gives_its_own_answer(simulate):
    logits, labels = simulate()
    probs = softmax(logits, axis=1)
    expected = LogisticRegression().fit(probs, labels).predict_proba(probs)
    fitted = ForeignCalibrator(calibrator=LogisticRegression()).fit(logits, labels)
    np.testing.assert_allclose(fitted.predict_proba(logits), expected, rtol=1e-9)


def test_a_class_it_never_saw_keeps_the_models_own_probability(simulate):
    logits, labels = simulate()
    labels = np.where(labels == 1, 0, labels)
    probs = softmax(logits, axis=1)
    returned = LogisticRegression().fit(probs, labels).predict_proba(probs)
    calibrated = ForeignCalibrator(calibrator=LogisticRegression()).fit(logits, labels).predict_proba(logits)
    np.testing.assert_allclose(calibrated[:, 1], probs[:, 1])
    np.testing.assert_allclose(calibrated[:, [0, 2, 3, 4]], returned * (1 - probs[:, [1]]))


def test_columns_go_where_classes_say(simulate):
    logits, labels = simulate()
    duck = Duck(lambda given: given[:, ::-1])
    duck.classes_ = np.arange(5)[::-1]
    probs = ForeignCalibrator(calibrator=duck).fit(logits, labels).predict_proba(logits)
    np.testing.assert_allclose(probs, softmax(logits, axis=1))


def test_torch_tensors_are_taken(simulate):
    logits, labels = simulate()
    fitted = ForeignCalibrator(calibrator=Duck(Tensor)).fit(logits, labels)
    np.testing.assert_allclose(fitted.predict_proba(logits), softmax(logits, axis=1))


def test_float32_rows_are_made_to_sum_to_one(simulate):
    logits, labels = simulate()
    duck = Duck(lambda given: (1.001 * given).astype(np.float32))
    probs = ForeignCalibrator(calibrator=duck).fit(logits, labels).predict_proba(logits)
    np.testing.assert_allclose(probs.sum(axis=1), 1, atol=1e-14)


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (lambda given: given[:, 1:], r"Duck returned probabilities of shape \(104, 4\); they need shape \(104, 5\)"),
        (lambda given: given[0], r"Duck returned probabilities of shape \(5,\)"),
        (lambda given: given * np.nan, "Duck returned probabilities that are negative or not finite"),
        (lambda given: 0.4 - given, "Duck returned probabilities that are negative or not finite"),
        (lambda given: 2 * given, "Duck returned a row that sums to 2; its rows need to sum to 1"),
    ],
)
def test_what_is_no_probability_is_an_error_with_the_objects_name(simulate, answer, complaint):
    logits, labels = simulate(n=104)
    fitted = ForeignCalibrator(calibrator=Duck(answer)).fit(logits, labels)
    with pytest.raises(ValueError, match=complaint):
        fitted.predict_proba(logits)


def test_classes_beyond_the_number_of_columns_are_refused(simulate):
    duck = Duck()
    duck.classes_ = ["a", "b", "c", "d", "e"]
    with pytest.raises(ValueError, match=r"Duck has classes_ .* among 0 to 4"):
        ForeignCalibrator(calibrator=duck).fit(*simulate())


def test_parameters_of_the_object_are_reachable():
    calibrator = ForeignCalibrator(calibrator=LogisticRegression())
    calibrator.set_params(calibrator__C=0.5)
    assert isinstance(calibrator.calibrator, BaseEstimator)
    assert calibrator.get_params()["calibrator__C"] == 0.5
