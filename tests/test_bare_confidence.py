"""`ProCal.fit_confidence`: one number a sample, and no rows."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit, logit
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

import proxcal as px
from proxcal.base import BASES


def answers(n=600, seed=0):
    """Sure of everything alike, and wrong far more often in half of the space."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, 3))
    confidence = rng.beta(6, 2, n)
    correct = rng.random(n) < np.where(features[:, 0] > 0, confidence, confidence / 3)
    return confidence, correct, features


def log_loss(confidence, correct):
    return -np.log(np.where(correct, confidence, 1 - confidence)).mean()


@pytest.mark.parametrize("input", ["logits", "probs"])
def test_the_default_base_divides_the_log_odds_by_the_temperature_of_least_log_loss(input):
    confidence, correct, _ = answers()
    found = minimize_scalar(lambda log_t: log_loss(expit(logit(confidence) / np.exp(log_t)), correct))
    calibrator = px.ProCal(informed=None, input=input).fit_confidence(confidence, correct)
    expected = expit(logit(confidence) / np.exp(found.x))
    np.testing.assert_allclose(calibrator.confidence(confidence), expected, atol=1e-4)


@pytest.mark.parametrize("base", [*BASES, "auto", LogisticRegression()], ids=str)
def test_every_base_calibrates_a_bare_confidence(base):
    """Warnings are errors here: none speaks of changed predictions, as there are none."""
    confidence, correct, features = answers()
    calibrator = px.ProCal(base=base).fit_confidence(confidence, correct, features)
    new, was_right, near = answers(seed=1)
    calibrated = calibrator.confidence(new, near)
    assert calibrated.shape == new.shape
    assert log_loss(calibrated, was_right) < log_loss(new, was_right) - 0.1


@pytest.mark.parametrize("informed", ["auto", "neighborhood", "logistic", "density-ratio", "bin-mean-shift"])
def test_where_it_is_wrong_of_some_of_the_space_only_the_neighbours_tell(informed):
    confidence, correct, features = answers(3000)
    new, was_right, near = answers(3000, seed=1)
    base = px.ProCal(informed=None).fit_confidence(confidence, correct)
    calibrator = px.ProCal(informed=informed).fit_confidence(confidence, correct, features)
    gain = log_loss(base.confidence(new), was_right) - log_loss(calibrator.confidence(new, near), was_right)
    assert gain > (0.05 if informed in ("auto", "neighborhood") else -0.005)


class Listener:
    """An informed calibrator that notes the evidence it is given."""

    takes_evidence = True

    def fit(self, confidence, proximity, correct, evidence):
        self.evidence = evidence
        return self

    def predict(self, confidence, proximity, evidence):
        return confidence


def test_evidence_is_how_many_neighbours_were_right_and_how_far_off_their_confidence_was():
    confidence, correct, features = answers()
    calibrator = px.ProCal(base="identity", informed=Listener()).fit_confidence(confidence, correct, features)
    near = calibrator.proximity_.neighbors().indices
    n_right = correct[near].sum(axis=1)
    seen = calibrator.informed_.evidence
    np.testing.assert_allclose(seen[:, 0], np.log((n_right + 0.5) / (10 - n_right + 0.5)))
    np.testing.assert_allclose(seen[:, 2], (correct - confidence)[near].mean(axis=1), atol=1e-12)


@pytest.mark.parametrize("base", ["temperature", "neighbor-votes"])
def test_answers_added_as_references_are_among_the_neighbours(base):
    confidence, correct, features = answers(300)
    calibrator = px.ProCal(base=base, informed="neighborhood").fit_confidence(confidence, correct, features)
    more, was_right, near = answers(3000, seed=2)
    new, _, where = answers(50, seed=1)
    before = calibrator.confidence(new, where)
    calibrator.add_references(near, was_right, more)
    np.testing.assert_array_equal(calibrator.reference_labels_, np.concatenate([correct, was_right]))
    assert (calibrator.reference_predictions_ == 1).all()
    assert (calibrator.reference_confidence_[300:] < 0.5).any()  # that of being right, not of the likelier
    assert (calibrator.confidence(new, where) != before).mean() > 0.9


@pytest.mark.parametrize("base", ["temperature", "vector", "isotonic", "neighbor-temperature"])
def test_loading_gives_what_was_saved_to_the_bit(base, tmp_path):
    confidence, correct, features = answers()
    calibrator = px.ProCal(base=base).fit_confidence(confidence, correct, features)
    calibrator.save(tmp_path / "model.proxcal")
    loaded = px.ProCal.load(tmp_path / "model.proxcal")
    new, _, near = answers(seed=1)
    np.testing.assert_array_equal(loaded.confidence(new, near), calibrator.confidence(new, near))
    with pytest.raises(ValueError, match="bare confidences"):
        loaded.predict(new, near)


@pytest.mark.parametrize("rows", ["keep", "rerank", "paper"])
def test_how_rows_are_rebuilt_is_no_matter(rows):
    confidence, correct, features = answers()
    expected = px.ProCal().fit_confidence(confidence, correct, features).confidence(confidence, features)
    calibrator = px.ProCal(rows=rows).fit_confidence(confidence, correct, features)
    np.testing.assert_array_equal(calibrator.confidence(confidence, features), expected)


@pytest.mark.filterwarnings("ignore::proxcal.ProxcalWarning")
@pytest.mark.parametrize("base", [*BASES, "auto"])
@pytest.mark.parametrize(
    "change",
    [
        lambda c, r, f: (c, np.ones_like(r), f),
        lambda c, r, f: (c, np.zeros_like(r), f),
        lambda c, r, f: (c.round(), r, f),
        lambda c, r, f: (np.full_like(c, 0.9), r, f),
        lambda c, r, f: (c.astype(np.float32), r.astype(int), f.astype(np.float16)),
        lambda c, r, f: (c, r, np.zeros_like(f)),
        lambda c, r, f: (c[:12], r[:12], f[:12]),
    ],
    ids=["all right", "all wrong", "exactly 0 and 1", "one confidence", "other types", "equal features", "few"],
)
def test_degenerate_sets_give_probabilities(base, change):
    confidence, correct, features = change(*answers(200))
    calibrator = px.ProCal(base=base).fit_confidence(confidence, correct, features)
    calibrated = calibrator.confidence(confidence, features)
    assert np.isfinite(calibrated).all()
    assert (calibrated >= 0).all()
    assert (calibrated <= 1).all()


@pytest.mark.parametrize("method", ["predict", "predict_proba", "calibrate"])
def test_rows_that_do_not_exist_are_refused_with_what_to_call(method):
    confidence, correct, features = answers(200)
    calibrator = px.ProCal(informed="logistic").fit_confidence(confidence, correct, features)
    with pytest.raises(ValueError, match=r"scores were bare confidences .* call confidence\(confidence, features\)"):
        getattr(calibrator, method)(confidence, features)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c, r, f: (c + 1, r, f), r"confidence lies in \[1\..*; it needs probabilities in \[0, 1\]"),
        (lambda c, r, f: (c[:, None], r, f), r"confidence has shape \(200, 1\); it needs one value a sample"),
        (lambda c, r, f: (np.where(c > 0.9, np.nan, c), r, f), "confidence has .* values that are not finite"),
        (lambda c, r, f: (c, r + 1, f), "correct has values other than 0 and 1"),
        (lambda c, r, f: (c, r[:-1], f), "correct has 199 samples; confidence has 200"),
        (lambda c, r, f: (c, r, f[:-1]), "features has 199 samples; the other arguments have 200"),
        (lambda c, r, f: (c, r), "features is missing"),
    ],
)
def test_bad_input_is_named(change, message):
    with pytest.raises(ValueError, match=message):
        px.ProCal().fit_confidence(*change(*answers(200)))


def test_rows_in_place_of_confidences_are_refused():
    confidence, correct, _ = answers(200)
    calibrator = px.ProCal(informed=None).fit_confidence(confidence, correct)
    with pytest.raises(ValueError, match=r"confidence has shape \(200, 2\)"):
        calibrator.confidence(np.stack([confidence, 1 - confidence], axis=1))


def test_fitting_to_rows_afterwards_brings_back_predictions():
    confidence, correct, features = answers(200)
    calibrator = px.ProCal(informed=None).fit_confidence(confidence, correct)
    calibrator.fit(features, features.argmax(axis=1) * correct)
    np.testing.assert_array_equal(calibrator.predict(features), features.argmax(axis=1))


def test_confidence_before_fit_says_so():
    with pytest.raises(NotFittedError):
        px.ProCal().confidence([0.5], [[0.0]])
