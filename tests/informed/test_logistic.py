"""Proximity-Logistic and Neighborhood-Logistic, which share their way of learning."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from proxcal.informed import NeighborhoodLogistic, ProximityLogistic
from proxcal.metrics import nll

BOTH = pytest.mark.parametrize("method", [ProximityLogistic, NeighborhoodLogistic])


def inputs(method, samples):
    known = (samples.confidence, samples.proximity)
    return (known, (samples.evidence,) if method.takes_evidence else ())


def fitted(method, samples, **settings):
    known, more = inputs(method, samples)
    return method(**settings).fit(*known, samples.correct, *more)


def predicted(model, samples):
    known, more = inputs(type(model), samples)
    return model.predict(*known, *more)


@BOTH
def test_bias_that_is_there_is_corrected(method, biased):
    test = biased(20_000, seed=1)
    corrected = predicted(fitted(method, biased(5000)), test)
    assert nll(corrected, test.correct) < nll(test.confidence, test.correct) - 0.01
    low = test.proximity < 0.2
    assert abs(corrected[low].mean() - test.chance[low].mean()) < 0.02


def test_evidence_is_worth_more_than_proximity_alone(biased):
    train, test = biased(5000), biased(20_000, seed=1)
    losses = [
        nll(predicted(fitted(method, train), test), test.correct)
        for method in (ProximityLogistic, NeighborhoodLogistic)
    ]
    assert losses[1] < losses[0]


@BOTH
@pytest.mark.parametrize("n", [100, 300, 1000])
def test_without_bias_the_confidence_is_left_nearly_alone(method, biased, n):
    harm = []
    for seed in range(20):
        train, test = biased(n, seed=seed, strength=0), biased(5000, seed=seed + 100, strength=0)
        harm.append(nll(predicted(fitted(method, train), test), test.correct) - nll(test.confidence, test.correct))
    assert np.mean(harm) < 0.001
    assert np.max(harm) < 0.01


@BOTH
def test_where_nothing_is_gained_the_confidence_is_returned_to_the_bit(method, biased):
    model = fitted(method, biased(500, strength=0), gate=1e6)
    test = biased(50, seed=1)
    np.testing.assert_array_equal(predicted(model, test), test.confidence)


@BOTH
def test_any_increasing_scale_of_proximity_gives_nearly_the_same(method, biased):
    train, test = biased(3000), biased(500, seed=1)
    plain = predicted(fitted(method, train), test)
    for samples in (train, test):
        samples.proximity = np.log(samples.proximity)
    np.testing.assert_allclose(predicted(fitted(method, train), test), plain, atol=2e-3)


@BOTH
def test_one_sample_gets_what_it_gets_among_many(method, biased):
    model, test = fitted(method, biased(1000)), biased(20, seed=1)
    known, more = inputs(method, test)
    alone = model.predict(*(x[7:8] for x in known), *(x[7:8] for x in more))
    assert alone[0] == predicted(model, test)[7]


@BOTH
def test_state_is_the_whole_of_a_fitted_calibrator(method, biased):
    model, test = fitted(method, biased(1000), degree=2), biased(50, seed=1)
    again = method.from_state(model.get_params(deep=False), model.state_arrays())
    np.testing.assert_array_equal(predicted(again, test), predicted(model, test))


@BOTH
@pytest.mark.parametrize(
    "change",
    [
        lambda s: s.correct.fill(True),
        lambda s: s.correct.fill(False),
        lambda s: s.confidence.fill(0.7),
        lambda s: s.confidence.fill(1.0),
        lambda s: s.confidence.fill(0.0),
        lambda s: s.proximity.fill(0.5),
        lambda s: s.evidence.fill(0.5),
        lambda s: s.confidence.round(out=s.confidence),
    ],
    ids=["all right", "all wrong", "one confidence", "sure", "surely wrong", "one proximity", "no evidence", "0 or 1"],
)
@pytest.mark.parametrize("n", [1, 2, 50])
def test_degenerate_samples_give_finite_confidences(method, biased, n, change):
    train, test = biased(n), biased(30, seed=1)
    change(train)
    found = predicted(fitted(method, train), test)
    assert np.isfinite(found).all()
    assert found.min() >= 0
    assert found.max() <= 1


@BOTH
def test_predict_before_fit_is_an_error(method, biased):
    with pytest.raises(NotFittedError):
        predicted(method(), biased(5))


@BOTH
def test_clone_keeps_the_settings(method):
    settings = {"degree": 2, "gate": 0.7, "random_state": 5}
    assert clone(method(**settings)).get_params() == settings


@BOTH
def test_wrong_settings_are_named(method, biased):
    with pytest.raises(ValueError, match="degree must be a whole number of at least 1; got 0"):
        fitted(method, biased(50), degree=0)
    with pytest.raises(ValueError, match=r"gate must be a number in \[0, inf\]; got -1"):
        fitted(method, biased(50), gate=-1)


def test_evidence_of_another_width_than_at_fit_is_named(biased):
    model, test = fitted(NeighborhoodLogistic, biased(200)), biased(5)
    with pytest.raises(ValueError, match="evidence has 2 columns; it had 3 at fit"):
        model.predict(test.confidence, test.proximity, test.evidence[:, :2])
