import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import brentq, minimize_scalar

from proxcal.base import Identity
from proxcal.rows import fit_exponent, rebuild

FLOOR = 1e-3


@st.composite
def rows_and_confidence(draw):
    shape = draw(st.tuples(st.integers(1, 8), st.integers(2, 12)))
    scale = draw(st.sampled_from([0.0, 0.1, 1.0, 20.0, 400.0, 2000.0]))
    logits = draw(arrays(np.float64, shape, elements=st.floats(-1, 1))) * scale
    z = np.exp(logits - logits.max(axis=1, keepdims=True))
    certainty = st.one_of(st.sampled_from([0.0, 1.0, 1 / shape[1], 0.5]), st.floats(0, 1))
    return z / z.sum(axis=1, keepdims=True), draw(arrays(np.float64, shape[:1], elements=certainty))


def top_is_unique(rows):
    ordered = np.sort(rows, axis=1)
    return ordered[:, -1] > ordered[:, -2]


@settings(max_examples=300, deadline=None)
@given(rows_and_confidence(), st.floats(0.05, 20), st.sampled_from(["keep", "rerank", "paper"]))
def test_rows_are_probabilities_that_sum_to_one(data, exponent, mode):
    found = rebuild(*data, exponent, mode)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-12)
    assert found.min() >= 0


@settings(max_examples=500, deadline=None)
@given(rows_and_confidence(), st.floats(0.05, 20))
def test_keep_changes_no_prediction(data, exponent):
    rows, _ = data
    unique = top_is_unique(rows)
    np.testing.assert_array_equal(rebuild(*data, exponent, "keep").argmax(axis=1)[unique], rows.argmax(axis=1)[unique])


@settings(max_examples=200, deadline=None)
@given(rows_and_confidence(), st.floats(0.05, 20))
def test_keep_never_turns_the_order_of_two_classes(data, exponent):
    rows, _ = data
    unique = top_is_unique(rows)
    found = rebuild(*data, exponent, "keep")[unique]
    order = np.argsort(rows[unique], axis=1)
    assert np.all(np.diff(np.take_along_axis(found, order, axis=1), axis=1) >= -1e-15)


@settings(max_examples=200, deadline=None)
@given(rows_and_confidence(), st.floats(0.05, 20))
def test_the_predicted_class_gets_the_confidence_where_a_row_with_this_ranking_can(data, exponent):
    rows, confidence = data
    possible = confidence > (1 + 1e-8) / rows.shape[1]
    found = rebuild(rows, confidence, exponent, "keep")
    tops = found[np.arange(len(rows)), rows.argmax(axis=1)]
    np.testing.assert_array_equal(tops[possible], confidence[possible])


def test_the_others_share_the_rest_in_proportion_to_their_power():
    rows, confidence = np.array([[0.6, 0.3, 0.08, 0.02]]), np.array([0.8])
    others = rows[0, 1:] ** 1.7
    np.testing.assert_allclose(rebuild(rows, confidence, 1.7, "keep")[0, 1:], 0.2 * others / others.sum())


def test_an_overtaken_rows_exponent_is_lowered_just_enough():
    rows, confidence = np.array([[0.6, 0.35, 0.04, 0.01]]), np.array([0.4])
    below = np.log(rows[0, 1:] / 0.35)
    b = brentq(lambda b: 0.6 / np.exp(b * below).sum() - 0.4, 1e-3, 1)
    expected = 0.6 * np.exp(b * below) / np.exp(b * below).sum()
    np.testing.assert_allclose(rebuild(rows, confidence, 1.0, "keep")[0], [0.4, *expected], rtol=1e-6)


def test_a_row_does_not_depend_on_the_rows_beside_it():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(500, 10)) * rng.uniform(0, 5, size=(500, 1))
    rows = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    confidence = rows.max(axis=1) * rng.uniform(0.3, 1.2, size=500).clip(0, 1)
    alone = [rebuild(rows[i : i + 1], confidence[i : i + 1], 1.3, "keep")[0] for i in range(500)]
    np.testing.assert_array_equal(rebuild(rows, confidence, 1.3, "keep"), alone)


@pytest.mark.parametrize("confidence", [0.0, 0.1, 0.25])
def test_a_confidence_no_ranking_allows_gives_a_nearly_uniform_row_in_order(confidence):
    found = rebuild(np.array([[0.1, 0.7, 0.15, 0.05]]), np.array([confidence]), 1.0, "keep")[0]
    np.testing.assert_allclose(found, 0.25, atol=1e-3)
    np.testing.assert_array_equal(np.argsort(found), [3, 0, 2, 1])


def test_rerank_lets_the_runner_up_overtake():
    found = rebuild(np.array([[0.6, 0.35, 0.04, 0.01]]), np.array([0.4]), 1.0, "rerank")[0]
    assert found[0] == 0.4
    assert found.argmax() == 1


def test_paper_overwrites_the_top_and_rescales_the_rest():
    rows = np.array([[0.6, 0.3, 0.08, 0.02]])
    np.testing.assert_allclose(rebuild(rows, np.array([0.5]), 3.0, "paper")[0], [0.5, *(rows[0, 1:] * 0.5 / 0.4)])


@pytest.mark.parametrize("mode", ["keep", "rerank", "paper"])
def test_a_saturated_row_shares_the_rest_equally(mode):
    found = rebuild(np.array([[0.0, 1.0, 0.0]]), np.array([0.6]), 1.0, mode)[0]
    np.testing.assert_allclose(found, [0.2, 0.6, 0.2])


def test_the_rows_given_are_not_changed():
    rows = np.array([[0.6, 0.3, 0.1]])
    rebuild(rows, np.array([0.2]), 1.0, "keep")
    np.testing.assert_array_equal(rows, [[0.6, 0.3, 0.1]])


def wrong_predictions(n=400, n_classes=6, power=1.6, seed=0):
    """Log probabilities, and labels that are never the top and fall on the others in proportion to p^power."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, n_classes)) * 2
    others = np.exp(power * logits)
    others[np.arange(n), logits.argmax(axis=1)] = 0
    chances = np.cumsum(others / others.sum(axis=1, keepdims=True), axis=1)
    return logits, (rng.random((n, 1)) > chances).sum(axis=1)


def test_the_exponent_is_the_one_with_the_least_log_loss_among_the_errors():
    logits, labels = wrong_predictions()
    base = Identity().fit(logits, labels)
    predicted = logits.argmax(axis=1)
    masked = logits.copy()
    masked[np.arange(len(labels)), predicted] = -np.inf

    def loss(b):
        return np.mean(np.log(np.exp(b * masked).sum(axis=1)) - b * masked[np.arange(len(labels)), labels])

    expected = minimize_scalar(loss, bounds=(0.1, 10), method="bounded", options={"xatol": 1e-8}).x
    assert fit_exponent(base, logits, None, predicted, labels) == pytest.approx(expected, rel=1e-4)


def test_right_predictions_say_nothing_of_the_exponent():
    logits, labels = wrong_predictions()
    base, predicted = Identity().fit(logits, labels), logits.argmax(axis=1)
    more = np.vstack([logits, logits]), None, np.r_[predicted, predicted], np.r_[labels, predicted]
    alone = fit_exponent(base, logits, None, predicted, labels)
    assert fit_exponent(base, *more) == pytest.approx(alone, rel=1e-6)


@pytest.mark.parametrize("n_errors", [0, 1, 19])
def test_few_errors_leave_the_exponent_at_one(n_errors):
    logits, labels = wrong_predictions(n_errors + 1)
    predicted = logits.argmax(axis=1)
    labels[-1] = predicted[-1]
    assert fit_exponent(Identity().fit(logits, labels), logits, None, predicted, labels) == 1


def test_two_classes_leave_the_exponent_at_one():
    logits = np.random.default_rng(0).normal(size=(200, 2))
    predicted = logits.argmax(axis=1)
    assert fit_exponent(Identity().fit(logits, 1 - predicted), logits, None, predicted, 1 - predicted) == 1
