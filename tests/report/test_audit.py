import json
import re

import numpy as np
import pytest

import proxcal as px
from proxcal.metrics import wilson_interval

QUICK = {"n_resamples": 50, "informed": "logistic"}
ERRORS = {"ece": px.ece, "ace": px.ace, "mce": px.mce, "piece": px.piece, "nll": px.nll, "brier": px.brier}


@pytest.fixture(scope="module")
def by_hand(samples):
    """The same split and calibrators, put together from the public pieces: confidence by stage, correct, proximity."""
    calibration, test = samples.split(0.5, random_state=2020)
    confidences = {}
    for name, settings in {
        "model": {"base": "identity", "informed": None},
        "base": {"informed": None},
        "ours": {"informed": "logistic"},
    }.items():
        calibrator = px.ProCal(**settings).fit(calibration.logits, calibration.labels, features=calibration.features)
        confidences[name] = calibrator.confidence(test.logits, features=test.features)
    proximity = px.Proximity().fit(calibration.features).log_score(test.features)
    return confidences, test.logits.argmax(axis=1) == test.labels, proximity


@pytest.fixture(params=["model", "base", "ours"])
def stage(request, found, by_hand):
    confidences, correct, proximity = by_hand
    return {stage.name: stage for stage in found.stages}[request.param], (
        confidences[request.param],
        correct,
        proximity,
    )


def test_each_stage_is_what_its_calibrator_says_of_the_test_samples(stage):
    stage, (confidence, correct, proximity) = stage
    np.testing.assert_allclose(stage.outcome.confidence, confidence, atol=1e-12)
    np.testing.assert_array_equal(stage.outcome.correct, correct)
    np.testing.assert_allclose(stage.outcome.log_proximity, proximity)


@pytest.mark.filterwarnings("ignore:confidence of the lowest")
def test_the_bias_is_that_of_bias_test(stage):
    stage, samples = stage
    expected = px.bias_test(*samples)
    assert (stage.bias.low, stage.bias.high) == expected.interval
    for name in ("bias_index", "p_value", "n_pairs", "accuracy_low", "confidence_high", "overlap", "n_groups", "test"):
        assert getattr(stage.bias, name) == getattr(expected, name)


def test_the_groups_are_those_of_proximity_groups(stage):
    stage, samples = stage
    expected = px.proximity_groups(*samples)
    np.testing.assert_allclose([group.gap for group in stage.groups], expected.gap)
    np.testing.assert_allclose([group.proximity for group in stage.groups], np.exp(expected.proximity))
    low, high = wilson_interval(expected.accuracy, expected.count)
    np.testing.assert_allclose([(group.low, group.high) for group in stage.groups], np.stack([low, high], axis=1))


@pytest.mark.parametrize("name", ERRORS)
def test_the_errors_are_those_of_the_metrics_with_their_intervals(stage, name):
    stage, (confidence, correct, proximity) = stage
    more = {"proximity": proximity} if name == "piece" else {}
    expected = px.confidence_interval(ERRORS[name], confidence, correct, n_resamples=50, **more)
    assert stage.metrics[name] == expected
    assert expected.value == ERRORS[name](confidence, correct, **more)


@pytest.mark.filterwarnings("ignore:piece has 150 bins")
def test_the_comparison_is_that_of_paired_difference(found, by_hand):
    confidences, correct, proximity = by_hand
    expected = px.paired_difference(
        px.piece, confidences["base"], confidences["ours"], correct, proximity, n_resamples=50
    )
    assert found.comparison["piece"].p_value == pytest.approx(expected.p_value)
    assert found.comparison["piece"].difference == pytest.approx(expected.difference)


def test_the_cumulative_test_is_that_of_cumulative_difference(stage):
    stage, samples = stage
    expected = px.cumulative_difference(*samples)
    assert stage.along_proximity.kuiper == pytest.approx(expected.kuiper)
    assert stage.along_proximity.p_value == pytest.approx(expected.kuiper_p_value)


def test_overfitting_is_that_of_the_models_own_predictions(found, samples, by_hand):
    calibration, _ = samples.split(0.5, random_state=2020)
    train = px.load_demo().take(np.arange(600, 1600))
    proximity = px.Proximity().fit(calibration.features).log_score(train.features)
    _, correct, held_out = by_hand
    expected = px.overfitting_by_proximity(train.logits.argmax(axis=1) == train.labels, proximity, correct, held_out)
    np.testing.assert_allclose(found.overfitting.gap, expected.gap)
    assert found.overfitting.excess == pytest.approx(expected.excess)


def test_the_overconfident_samples_are_the_most_confident_wrong_ones_of_the_lowest_fifth(found, samples, by_hand):
    confidences, correct, proximity = by_hand
    lowest = np.argsort(proximity, kind="stable")[: len(proximity) // 5]
    wrong = lowest[~correct[lowest]]
    expected = sorted(confidences["base"][wrong], reverse=True)[:20]
    np.testing.assert_allclose([sample.confidence["base"] for sample in found.overconfident], expected)
    for sample in found.overconfident:
        assert samples.labels[sample.row] == sample.label != sample.predicted == samples.logits[sample.row].argmax()
        assert sample.id == f"<photo {sample.row}>"


def test_images_are_those_of_their_rows(found, images):
    sample = found.overconfident[0]
    np.testing.assert_allclose(sample.image, images[sample.row] / 255)


def test_json_is_the_dict(found):
    assert json.loads(found.to_json()) == found.to_dict()


@pytest.mark.filterwarnings("ignore::proxcal.ProxcalWarning")
def test_a_base_that_is_the_model_as_it_is_is_shown_once(samples):
    found = px.audit(samples, base="identity", **QUICK)
    assert [stage.title for stage in found.stages] == ["Model as it is", "After ProCal"]


@pytest.mark.filterwarnings("ignore::proxcal.ProxcalWarning")
def test_a_base_that_changes_predictions_says_what_it_does_to_accuracy(samples):
    found = px.audit(samples, base="neighbor-votes", **QUICK)
    assert set(found.accuracy_change) == {"change", "low", "high", "changed"}
    assert found.before.changed == np.mean(found.before.outcome.predicted != found.stages[0].outcome.predicted)


@pytest.mark.filterwarnings("ignore::proxcal.ProxcalWarning")
def test_given_calibration_samples_all_of_predictions_is_judged(samples):
    found = px.audit(samples.take(range(300)), calibration=samples.take(range(300, 600)), **QUICK)
    assert (found.samples["test"], found.samples["calibration"]) == (300, 300)
    assert "seed" not in found.settings


@pytest.mark.filterwarnings("ignore::proxcal.ProxcalWarning")
def test_the_papers_settings_may_be_asked_for(samples):
    found = px.audit(samples, paper=True, n_resamples=50)
    assert (found.settings["normalize"], found.settings["rows"]) == (False, "paper")
    assert found.correction == {"informed": "density-ratio"}


@pytest.mark.filterwarnings("ignore:confidence of the lowest")
def test_warnings_are_given_to_the_caller_and_are_limits_of_the_report(samples):
    with pytest.warns(px.ProxcalWarning, match="150 bins for 300 samples"):
        found = px.audit(samples, **QUICK)
    assert any("150 bins for 300 samples" in limit for limit in found.limits)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"ids": np.arange(5)}, "ids has 5 samples"),
        ({"ids": np.zeros((600, 2), int)}, "ids has shape"),
        ({"images": np.zeros((600, 3, 8, 8))}, "channels last"),
        ({"images": np.zeros((600, 8, 8), int)}, "images has dtype int64"),
        ({"images": np.full((600, 8, 8), 3.0)}, "images lies in"),
        ({"seed": -1}, "seed must be"),
        ({"fraction": 0.99}, "6 test samples, from which nothing can be concluded"),
        ({"n_neighbors": 400}, "n_neighbors is 400"),
        ({"base": "tmperature"}, "base must be one of"),
    ],
)
@pytest.mark.filterwarnings("ignore::proxcal.ProxcalWarning")
def test_what_does_not_fit_is_said_in_one_sentence(samples, given, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        px.audit(samples, **QUICK | given)


@pytest.mark.parametrize("missing", ["labels", "features"])
def test_labels_and_features_are_needed(samples, missing):
    arrays = {"logits": samples.logits, "labels": samples.labels, "features": samples.features}
    arrays.pop(missing)
    with pytest.raises(ValueError, match=f"has no {missing}"):
        px.audit(px.Predictions(**arrays))
