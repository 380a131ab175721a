"""What every base calibrator keeps to, whatever the calibration set. A new one joins by being listed in CALIBRATORS."""

from functools import cache

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from proxcal.base import (
    EnsembleTemperatureScaling,
    ForeignCalibrator,
    HistogramBinning,
    Identity,
    IsotonicRegression,
    MultiIsotonicRegression,
    NeighborTemperatureScaling,
    NeighborVotes,
    ParameterizedTemperatureScaling,
    TemperatureScaling,
    VectorScaling,
)


class WithFeatures:
    """Takes part as the others do: each sample's features are made of its own scores. One sample has no neighbours."""

    def fit(self, scores, y):
        return super().fit(scores, y, features_of(scores))

    def predict_proba(self, scores):
        return super().predict_proba(scores, features_of(scores))

    def predict(self, scores):
        return self.predict_proba(scores).argmax(axis=1)


class NearTemperature(WithFeatures, NeighborTemperatureScaling): ...


class NearVotes(WithFeatures, NeighborVotes): ...


def features_of(scores):
    if scores.ndim < 2 or not scores.size or not np.isfinite(scores).all():
        return np.ones((4, 2))
    return np.tanh(scores[:, :2].astype(np.float64)).round(6)


CALIBRATORS = [
    Identity(),
    TemperatureScaling(),
    EnsembleTemperatureScaling(),
    EnsembleTemperatureScaling(loss="brier"),
    ParameterizedTemperatureScaling(),
    ParameterizedTemperatureScaling(loss="brier"),
    NearTemperature(),
    NearVotes(),
    VectorScaling(),
    HistogramBinning(),
    HistogramBinning(strategy="quantile"),
    IsotonicRegression(),
    IsotonicRegression(ties="break"),
    MultiIsotonicRegression(),
    MultiIsotonicRegression(ties="break"),
    ForeignCalibrator(calibrator=TemperatureScaling(input="probs")),
]

pytestmark = pytest.mark.filterwarnings("ignore::proxcal._validation.ProxcalWarning")


def of(n_classes=4, n=60, scale=1.0, labels="drawn", dtype=np.float64, seed=0):
    """Logits and labels; `labels` says which of the hard cases."""
    rng = np.random.default_rng(seed)
    logits = 3 * rng.normal(size=(n, n_classes))
    drawn = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    chosen = {
        "drawn": drawn,
        "absent": np.where(drawn == 1, 0, drawn),
        "one class": np.full(n, 2),
        "all right": logits.argmax(axis=1),
        "all wrong": logits.argmin(axis=1),
    }[labels]
    return (scale * logits).astype(dtype), chosen


LOGITS = {
    "plain": of(),
    "class absent from calibration": of(labels="absent"),
    "one class alone": of(labels="one class"),
    "one sample a class": (of(n=4)[0], np.arange(4)),
    "one sample in all, right": of(n=1, labels="all right"),
    "one sample in all, wrong": of(n=1, labels="all wrong"),
    "two classes": of(n_classes=2),
    "float16": of(dtype=np.float16),
    "float32": of(dtype=np.float32),
    "logits x 1e-3": of(scale=1e-3),
    "logits x 1e3": of(scale=1e3),
    "logits x 1e3 in float32": of(scale=1e3, dtype=np.float32),
    "identical scores": (np.tile([2.0, 1.0, 0.0], (30, 1)), np.arange(30) % 3),
    "equal scores in each row": (np.zeros((30, 3)), np.arange(30) % 3),
    "integer logits, many ties": (of()[0].round(), of()[1]),
    "all right": of(labels="all right"),
    "all wrong": of(labels="all wrong"),
    "more classes than samples": of(n_classes=50, n=10),
    "a class masked by the smallest float": (np.column_stack([of()[0], np.full(60, -3.4e38)]), of()[1]),
}
PROBS = {
    "plain": (softmax(of()[0], axis=1), of()[1]),
    "float16": (softmax(of()[0], axis=1).astype(np.float16), of()[1]),
    "float32": (softmax(of()[0], axis=1).astype(np.float32), of()[1]),
    "exactly 0 and 1, all right": (np.eye(4)[of()[1]], of()[1]),
    "exactly 0 and 1, all wrong": (np.eye(4)[of()[1]], (of()[1] + 1) % 4),
    "exactly 0 and 1, some wrong": (np.eye(4)[of()[0].argmax(axis=1)], of()[1]),
    "float32 saturated": (softmax(of(scale=60, dtype=np.float32)[0], axis=1), of()[1]),
}
CASES = {f"logits, {name}": ("logits", *case) for name, case in LOGITS.items()}
CASES |= {f"probs, {name}": ("probs", *case) for name, case in PROBS.items()}
BY_NAME = {repr(calibrator): calibrator for calibrator in CALIBRATORS}

every_calibrator = pytest.mark.parametrize("calibrator", CALIBRATORS, ids=repr)
every_name = pytest.mark.parametrize("name", BY_NAME)
every_case = pytest.mark.parametrize("case", CASES)


@cache
def fitted_rows(name, case):
    """The calibrator fitted to a case, and its rows for the scores of that case."""
    input, scores, labels = CASES[case]
    if len(scores) == 1 and isinstance(BY_NAME[name], WithFeatures):
        pytest.skip("a sample is not its own neighbour")
    fitted = clone(BY_NAME[name]).set_params(input=input).fit(scores, labels)
    return fitted, fitted.predict_proba(scores)


@every_case
@every_name
def test_rows_are_finite_float64_probabilities_that_sum_to_one(name, case):
    _, probs = fitted_rows(name, case)
    assert probs.shape == CASES[case][1].shape
    assert probs.dtype == np.float64
    assert (probs >= 0).all()
    np.testing.assert_allclose(probs.sum(axis=1), 1, atol=1e-12)


def unseen(input, n_classes):
    """Rows further out than any calibration set's, level ones, and certainty."""
    logits = np.random.default_rng(1).normal(size=(6, n_classes)) * np.array([1e-6, 1, 1, 30, 1e3, 1e6])[:, None]
    logits = np.concatenate([logits, np.zeros((1, n_classes))])
    return logits if input == "logits" else np.concatenate([softmax(logits, axis=1), np.eye(n_classes)[:1]])


@every_case
@every_name
def test_rows_of_scores_unlike_any_seen_are_finite_too(name, case):
    fitted, _ = fitted_rows(name, case)
    probs = fitted.predict_proba(unseen(CASES[case][0], fitted.n_classes_))
    assert np.isfinite(probs).all()
    assert (probs >= 0).all()
    np.testing.assert_allclose(probs.sum(axis=1), 1, atol=1e-12)


@every_case
@every_name
def test_a_row_does_not_depend_on_the_rows_around_it(name, case):
    fitted, probs = fitted_rows(name, case)
    for i in range(0, len(probs), 7):
        np.testing.assert_array_equal(probs[i : i + 1], fitted.predict_proba(CASES[case][1][i : i + 1]))


@every_case
@pytest.mark.parametrize("name", [repr(calibrator) for calibrator in CALIBRATORS if calibrator.preserves_order])
def test_order_preserving_calibrators_never_reverse_a_row(name, case):
    _, probs = fitted_rows(name, case)
    in_order = np.take_along_axis(probs, CASES[case][1].argsort(axis=1, kind="stable"), axis=1)
    assert (np.diff(in_order) >= 0).all()


@every_case
@every_name
def test_what_fit_learned_is_the_whole_object(name, case):
    fitted, probs = fitted_rows(name, case)
    again = type(fitted).from_state(fitted.get_params(deep=False), fitted.state_arrays())
    np.testing.assert_array_equal(probs, again.predict_proba(CASES[case][1]))


@pytest.mark.parametrize("n_classes", [2, 3, 10, 301])
@every_calibrator
def test_a_row_does_not_depend_on_blocks_or_the_order_in_memory(calibrator, n_classes):
    scores, labels = of(n_classes=n_classes, n=4001, dtype=np.float32)
    fitted = clone(calibrator).fit(scores[:1000], labels[:1000])
    whole = fitted.predict_proba(scores)
    np.testing.assert_array_equal(whole, fitted.predict_proba(np.asfortranarray(scores)))
    parts = [fitted.predict_proba(part) for part in np.split(scores, [1, 3, 8, 100, 1111, 4000])]
    np.testing.assert_array_equal(whole, np.concatenate(parts))


@every_calibrator
def test_fitting_twice_gives_the_same_bit_for_bit(calibrator):
    scores, labels = of()
    first, second = (clone(calibrator).fit(scores, labels).predict_proba(scores) for _ in range(2))
    np.testing.assert_array_equal(first, second)


@every_calibrator
def test_fit_leaves_the_callers_arrays_alone(calibrator):
    scores, labels = of()
    given = scores.copy(), labels.copy()
    clone(calibrator).fit(scores, labels).predict_proba(scores)
    np.testing.assert_array_equal(scores, given[0])
    np.testing.assert_array_equal(labels, given[1])


@every_calibrator
def test_parameters_survive_a_clone(calibrator):
    copied = clone(calibrator).get_params(deep=False)
    assert copied.keys() == calibrator.get_params(deep=False).keys()
    assert repr(copied) == repr(calibrator.get_params(deep=False))


@every_calibrator
def test_predict_is_the_largest_probability(calibrator):
    scores, labels = of()
    fitted = clone(calibrator).fit(scores, labels)
    np.testing.assert_array_equal(fitted.predict(scores), fitted.predict_proba(scores).argmax(axis=1))


@every_calibrator
def test_predict_before_fit_says_so(calibrator):
    with pytest.raises(NotFittedError, match=type(calibrator).__name__):
        clone(calibrator).predict_proba(np.eye(3))


@pytest.mark.parametrize(
    ("scores", "labels", "complaint"),
    [
        (np.full((4, 3), np.nan), [0, 1, 2, 0], "logits has 12 values that are not finite"),
        (np.zeros(4), [0, 1, 2, 0], "logits has shape"),
        (np.zeros((4, 1)), [0, 0, 0, 0], "logits has 1 column"),
        (np.zeros((0, 3)), [], "logits has no rows"),
        (np.zeros((4, 3)), [0, 1], "y has 2 samples"),
        (np.zeros((4, 3)), [0, 1, 2, 3], "y has 3 in row 3"),
        (np.zeros((4, 3)), [0, 1, 2, 0.5], "y has dtype"),
        (np.full((4, 2), 0.5), [0, 1, 1, 0], "logits has only rows .* probabilities"),
    ],
)
@every_calibrator
def test_bad_input_is_refused_with_the_arguments_name(calibrator, scores, labels, complaint):
    with pytest.raises(ValueError, match=complaint):
        clone(calibrator).fit(scores, labels)


@every_calibrator
def test_logits_given_as_probabilities_are_refused(calibrator):
    with pytest.raises(ValueError, match="probs has values outside"):
        clone(calibrator).set_params(input="probs").fit(*of())


@every_calibrator
def test_another_number_of_classes_is_refused(calibrator):
    with pytest.raises(ValueError, match="logits has 3 columns; the calibrator was fitted with 4 classes"):
        clone(calibrator).fit(*of()).predict_proba(np.zeros((2, 3)))
