import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import proxcal as px
from proxcal.informed import BinMeanShift, Chain, DensityRatio, NeighborhoodLogistic, ProximityLogistic
from proxcal.informed.selection import MIN_SAMPLES


class Recorder:
    """Anyone's calibrator, which takes a tenth off every confidence and keeps what it was given."""

    seen = ()

    def fit(self, confidence, proximity, correct):
        self.seen = (confidence, proximity)
        return self

    def predict(self, confidence, proximity):
        return 0.9 * confidence


@pytest.fixture(scope="module")
def demo():
    calibration, test = px.load_demo().split(0.5, random_state=0)
    return calibration.take(np.arange(600)), test.take(np.arange(400))


def test_predictions_are_those_of_the_fitted_steps_in_turn(biased):
    data = biased(500)
    log_proximity = np.log(data.proximity)
    chain = Chain(steps=[BinMeanShift(), ProximityLogistic()]).fit(data.confidence, log_proximity, data.correct)
    expected = data.confidence
    for step in chain.steps_:
        expected = step.predict(expected, log_proximity)
    np.testing.assert_array_equal(chain.predict(data.confidence, log_proximity), expected)


def test_a_chain_of_one_is_that_one(biased):
    data = biased(500)
    sample = (data.confidence, np.log(data.proximity))
    chain = Chain(steps=[DensityRatio()]).fit(*sample, data.correct)
    alone = DensityRatio().fit(*sample, data.correct)
    np.testing.assert_array_equal(chain.predict(*sample), alone.predict(*sample))


def test_a_step_learns_from_what_the_former_gives_samples_it_did_not_see(biased):
    data = biased(400)
    first, log_proximity = BinMeanShift(shrinkage=1.0), np.log(data.proximity)
    chain = Chain(steps=[first, Recorder()], random_state=3).fit(data.confidence, log_proximity, data.correct)
    given = chain.steps_[1].seen[0]
    folds = np.random.default_rng(3).permutation(np.arange(400) % 10)
    for fold in range(10):
        inside = folds == fold
        without = clone(first).fit(data.confidence[~inside], log_proximity[~inside], data.correct[~inside])
        np.testing.assert_allclose(given[inside], without.predict(data.confidence[inside], log_proximity[inside]))


def test_under_a_hundred_samples_a_step_learns_from_what_the_former_gives_its_own(biased):
    data = biased(MIN_SAMPLES - 1)
    chain = Chain(steps=[BinMeanShift(), Recorder()]).fit(data.confidence, np.log(data.proximity), data.correct)
    own = chain.steps_[0].predict(data.confidence, np.log(data.proximity))
    np.testing.assert_array_equal(chain.steps_[1].seen[0], own)


def test_evidence_goes_to_the_steps_that_take_it_only(biased):
    data = biased(500)
    chain = Chain(steps=[Recorder(), NeighborhoodLogistic()])
    chain.fit(data.confidence, np.log(data.proximity), data.correct, data.evidence)
    alone = NeighborhoodLogistic().fit(0.9 * data.confidence, np.log(data.proximity), data.correct, data.evidence)
    np.testing.assert_array_equal(chain.steps_[1].weights_, alone.weights_)


def test_anyones_step_gets_proximity_as_it_is_defined(biased):
    data = biased(150)
    chain = Chain(steps=[Recorder()]).fit(data.confidence, np.log(data.proximity), data.correct)
    np.testing.assert_allclose(chain.steps_[0].seen[1], data.proximity)


def test_a_later_steps_gate_leaves_alone_what_the_former_has_put_right(biased):
    data = biased(5000, strength=0)
    chain = Chain(steps=[BinMeanShift(), ProximityLogistic(gate=1.0)])
    chain.fit(data.confidence, np.log(data.proximity), data.correct)
    assert chain.steps_[1].share_ == 0


def test_a_later_step_corrects_what_the_former_did_to_its_own_samples(biased):
    """Ten samples a bin at full shift: sure of its own samples, off on new ones, as only held-out confidences tell."""
    data, new = biased(1500), biased(5000, seed=1)
    first, log_proximity = BinMeanShift(shrinkage=1.0), np.log(data.proximity)
    chain = Chain(steps=[first, ProximityLogistic()]).fit(data.confidence, log_proximity, data.correct)
    alone = chain.steps_[0].predict(new.confidence, np.log(new.proximity))
    both = chain.predict(new.confidence, np.log(new.proximity))
    assert px.nll(both, new.correct) < px.nll(alone, new.correct) - 0.02


def test_predict_before_fit_is_refused():
    with pytest.raises(NotFittedError):
        Chain(steps=[BinMeanShift()]).predict([0.5], [-1.0])


@pytest.mark.parametrize(
    "informed",
    [
        ["bin-mean-shift", "logistic"],
        ("neighborhood", BinMeanShift(n_bins=5)),
        [BinMeanShift(shrinkage=0.5), DensityRatio(coordinates="paper")],
    ],
)
def test_a_calibrator_with_a_list_survives_saving_to_the_bit(demo, tmp_path, informed):
    calibration, test = demo
    cal = px.ProCal(informed=informed).fit(calibration.logits, calibration.labels, features=calibration.features)
    cal.save(tmp_path / "a.proxcal")
    loaded = px.ProCal.load(tmp_path / "a.proxcal")
    np.testing.assert_array_equal(
        loaded.predict_proba(test.logits, features=test.features),
        cal.predict_proba(test.logits, features=test.features),
    )


def test_a_list_is_fitted_as_a_chain_with_evidence_and_log_proximity(demo):
    calibration, test = demo
    cal = px.ProCal(base="identity", informed=["bin-mean-shift", "neighborhood"])
    cal.fit(calibration.logits, calibration.labels, features=calibration.features)
    assert [type(step) for step in cal.informed_.steps_] == [BinMeanShift, NeighborhoodLogistic]
    raw = px.ProCal(informed=None, base="identity").fit(calibration.logits, calibration.labels)
    neighbors = cal.proximity_.neighbors(test.features, 50)
    seen = px.evidence(
        neighbors,
        test.logits.argmax(axis=1),
        cal.reference_labels_,
        cal.reference_predictions_,
        cal.reference_confidence_,
    )
    expected = cal.informed_.predict(raw.confidence(test.logits), cal.proximity_.log_score(test.features), seen)
    np.testing.assert_allclose(cal.confidence(test.logits, features=test.features), expected)


def test_the_random_state_goes_to_each_named_step(demo):
    calibration, _ = demo
    cal = px.ProCal(informed=["logistic", "bin-mean-shift", "neighborhood"], random_state=7)
    cal.fit(calibration.logits, calibration.labels, features=calibration.features)
    assert [getattr(step, "random_state", None) for step in cal.informed_.steps_] == [7, None, 7]
    assert cal.informed_.random_state == 7


def test_a_copy_of_a_calibrator_with_a_list_has_steps_of_its_own():
    step = BinMeanShift()
    copied = clone(px.ProCal(informed=["logistic", step]))
    assert copied.informed[0] == "logistic"
    assert copied.informed[1].get_params() == step.get_params()
    assert copied.informed[1] is not step


@pytest.mark.parametrize(
    ("informed", "message"),
    [
        ([], "informed is an empty list"),
        (["logistic", "auto"], "informed has 'auto' in its list; name each step"),
        (["logistic", None], "informed has None in its list"),
        (["logistic", ["logistic"]], r"informed has \['logistic'\] in its list"),
        (["logistic", "nothing"], "informed must be one of"),
        (["logistic", 3], "informed must be a name, None, or an object with fit and predict; got 3"),
    ],
)
def test_a_list_that_cannot_be_used_is_named(demo, informed, message):
    calibration, _ = demo
    with pytest.raises(ValueError, match=message):
        px.ProCal(informed=informed).fit(calibration.logits, calibration.labels, features=calibration.features)


def test_evidence_that_a_step_needs_is_asked_for(biased):
    data = biased(150)
    with pytest.raises(ValueError, match="evidence is missing"):
        Chain(steps=[NeighborhoodLogistic()]).fit(data.confidence, np.log(data.proximity), data.correct)
