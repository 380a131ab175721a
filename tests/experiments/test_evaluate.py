import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import proxcal as px
from proxcal.bundle import Predictions
from proxcal.experiments import METRICS, evaluate
from proxcal.proximity import Proximity


def values(evaluation, base, method):
    return {r.metric: r.value for r in evaluation.records if (r.base, r.method) == (base, method)}


def slowly(predicted, confidence, probs, labels, proximity, weighted=False):
    """Every metric as its definition says, from what the public interface gives."""
    correct = predicted == labels
    error = px.piece(confidence, correct, proximity)
    return {
        "ece": px.ece(confidence, correct),
        "ace": px.ace(confidence, correct),
        "mce": px.mce(confidence, correct, weighted=weighted),
        "piece": error,
        "piece_minus_floor": error - px.noise_floor(px.piece, confidence, proximity),
        "nll": log_loss(np.where(correct, confidence, 1 - confidence)),
        "brier": np.mean((confidence - correct) ** 2),
        "accuracy": np.mean(correct),
        "multiclass_nll": log_loss(probs[np.arange(len(labels)), labels]),
    }


def log_loss(probability):
    epsilon = np.finfo(float).eps
    return -np.mean(np.log(np.clip(probability, epsilon, 1 - epsilon)))


@pytest.mark.filterwarnings("ignore::proxcal.ProxcalWarning")
@pytest.mark.parametrize(
    ("base", "settings"),
    [
        ("identity", {}),
        ("temperature", {"informed": "logistic"}),
        ("temperature", {"informed": "neighborhood", "rows": "rerank"}),
        ("temperature", {"informed": "bin-mean-shift", "n_neighbors": 60, "metric": "cosine"}),
        ("multi-isotonic", {"informed": None}),
    ],
)
def test_one_split_gives_what_the_public_interface_gives(samples, base, settings):
    found = evaluate(samples, bases=[base], seeds=[3], **settings)
    calibration, test = samples.split(0.5, random_state=3)
    fitted = px.ProCal(base=base, **settings).fit(calibration.logits, calibration.labels, features=calibration.features)
    search = Proximity(n_neighbors=fitted.n_neighbors, metric=fitted.metric).fit(calibration.features)
    proximity = search.log_score(test.features)
    alone = fitted.base_.predict_proba(test.logits)
    given = test.logits, test.features
    ours = fitted.predict(*given), fitted.confidence(*given), fitted.predict_proba(*given)
    expected = {
        "base": slowly(alone.argmax(axis=1), alone.max(axis=1), alone, test.labels, proximity),
        "ours": slowly(*ours, test.labels, proximity),
    }
    for method, by_metric in expected.items():
        assert values(found, base, method) == pytest.approx(by_metric, abs=1e-9)


@pytest.mark.filterwarnings("ignore::proxcal.ProxcalWarning")
@pytest.mark.parametrize("base", ["temperature", "histogram"])
def test_the_papers_settings_are_those_of_procal_paper_with_weighted_mce(samples, base):
    found = evaluate(samples, bases=[base], seeds=[0], paper=True)
    calibration, test = samples.split(0.5, random_state=0)
    fitted = px.ProCal.paper(base=base).fit(calibration.logits, calibration.labels, features=calibration.features)
    proximity = Proximity(normalize=False).fit(calibration.features).log_score(test.features)
    given = test.logits, test.features
    ours = fitted.predict(*given), fitted.confidence(*given), fitted.predict_proba(*given)
    expected = slowly(*ours, test.labels, proximity, weighted=True)
    assert values(found, base, "ours") == pytest.approx(expected, abs=1e-9)


def test_neighbors_are_sought_once_a_split_and_side(samples, monkeypatch):
    searched = []
    search = Proximity.neighbors
    monkeypatch.setattr(Proximity, "neighbors", lambda *args, **named: searched.append(1) or search(*args, **named))
    evaluate(samples, bases=["identity", "temperature", LogisticRegression()], seeds=[0, 1], informed="neighborhood")
    assert len(searched) == 2 * 2


def test_there_is_a_record_for_each_file_seed_base_method_and_metric(samples):
    halves = dict(zip("ab", samples.split(0.5), strict=True))
    found = evaluate(halves, seeds=[0, 1, 2], informed="logistic")
    keys = {r[:5] for r in found.records}
    assert len(keys) == len(found.records) == 2 * 3 * 2 * 2 * len(METRICS)


def test_the_mean_over_files_comes_with_the_means_of_each(samples):
    halves = dict(zip("ab", samples.split(0.5), strict=True))
    found = evaluate(halves, bases=["temperature"], seeds=[0, 1], informed="logistic")
    of_both, a, b = (found.of(file, "temperature")["nll"] for file in (None, "a", "b"))
    assert of_both.ours_value == pytest.approx((a.ours_value + b.ours_value) / 2)


def test_the_smaller_error_and_the_larger_accuracy_are_better(samples):
    found = evaluate(samples, bases=["identity"], seeds=[0], informed="neighborhood", rows="rerank")
    compared = found.of("predictions", "identity")
    for metric in METRICS:
        c = compared[metric]
        ours_is_larger = c.ours_value > c.base_value
        better = "ours" if ours_is_larger == (metric == "accuracy") else "base"
        assert c.better == (None if c.ours_value == c.base_value else better)


def test_equal_methods_have_no_better_and_no_star(samples):
    compared = evaluate(samples, bases=["temperature"], seeds=[0, 1], informed=None).of("predictions", "temperature")
    assert all(c.better is None and c.p_value == 1 for c in compared.values())


def test_a_given_split_calibrates_on_the_one_and_tests_on_the_other(samples):
    calibration, test = samples.split(0.4, random_state=7)
    random = evaluate(samples, bases=["temperature"], seeds=[7], fraction=0.4, informed="logistic")
    given = evaluate(calibration, test=test, bases=["temperature"], informed="logistic")
    assert values(given, "temperature", "ours") == values(random, "temperature", "ours")
    assert {r.seed for r in given.records} == {None}


def test_a_given_split_keeps_its_calibrators_and_what_they_said(samples):
    calibration, test = samples.split(0.5)
    pair = evaluate(calibration, test=test, bases=["temperature"], informed="logistic").pairs["temperature"]
    np.testing.assert_array_equal(pair.ours.confidence, pair.calibrator.confidence(test.logits, test.features))


def test_the_same_seed_gives_the_same_everything(samples):
    first, second = (evaluate(samples, bases=["temperature"], seeds=[1]).to_dict() for _ in range(2))
    assert first == second


def test_informed_says_what_each_fit_came_to(samples):
    found = evaluate(samples, bases=["identity"], seeds=[0, 1])
    assert [(c.seed, c.base) for c in found.informed] == [(0, "identity"), (1, "identity")]
    assert all(c.reason for c in found.informed)
    named = evaluate(samples, bases=["identity"], seeds=[0], informed=px.DensityRatio())
    assert [(c.informed, c.reason) for c in named.informed] == [("density-ratio", None)]


def test_it_says_which_base_was_chosen_where_one_was(samples):
    found = evaluate(samples, bases=["temperature", "auto"], seeds=[0])
    assert found.informed[0].base_chosen is None
    assert found.informed[1].base_chosen in ("identity", "temperature", "ensemble-temperature", "vector")


def test_progress_counts_the_fits(samples):
    calls = []
    evaluate(samples, seeds=[4, 5], informed="logistic", progress=lambda *call: calls.append(call))
    assert [call[:2] for call in calls] == [(0, 4), (1, 4), (2, 4), (3, 4)]


def test_probabilities_serve_as_well_as_logits(samples):
    z = np.exp(samples.logits.astype(np.float64))
    probs = Predictions(probs=z / z.sum(axis=1, keepdims=True), labels=samples.labels, features=samples.features)
    from_probs, from_logits = (
        values(evaluate(p, bases=["temperature"], seeds=[0], informed="logistic"), "temperature", "ours")
        for p in (probs, samples)
    )
    assert from_probs == pytest.approx(from_logits, abs=1e-3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"bases": ["platt"]}, "base must be one of 'identity'"),
        ({"bases": []}, "bases must be a list of one base calibrator or more"),
        ({"bases": "temperature"}, "bases must be a list"),
        ({"bases": ["identity", "identity"]}, "twice"),
        ({"seeds": []}, "seeds must be whole numbers, one or more, each once"),
        ({"seeds": [1, 1]}, "seeds must be whole numbers, one or more, each once"),
        ({"seeds": [-1]}, "seeds must be a whole number of at least 0; got -1"),
        ({"fraction": 0}, "fraction must be a number in"),
        ({"rows": "sort"}, "rows must be one of 'keep'"),
        ({"informed": "magic"}, "informed must be one of 'auto'"),
        ({"n_neighbors": 300}, "n_neighbors is 300; the reference set has 300 samples"),
    ],
)
def test_bad_arguments_are_named(samples, arguments, message):
    with pytest.raises(ValueError, match=message):
        evaluate(samples, **arguments)


@pytest.mark.parametrize("missing", ["labels", "features"])
def test_predictions_that_lack_something_are_named(samples, missing):
    arrays = {"logits": samples.logits, "labels": samples.labels, "features": samples.features, missing: None}
    with pytest.raises(ValueError, match=f"half.npz has no {missing}"):
        evaluate({"whole.npz": samples, "half.npz": Predictions(**arrays)})


def test_a_given_test_goes_with_one_file(samples):
    with pytest.raises(ValueError, match="test goes with one file of calibration samples; predictions has 2"):
        evaluate({"a": samples, "b": samples}, test=samples)


def test_a_test_of_another_kind_is_refused(samples):
    other = Predictions(logits=samples.logits[:, :5], labels=samples.labels % 5, features=samples.features)
    with pytest.raises(ValueError, match="test has 5 classes; calibration has 10"):
        evaluate(samples, test=other)


@pytest.mark.filterwarnings("ignore::proxcal.ProxcalWarning")
@pytest.mark.parametrize("paper", [False, True])
def test_all_is_the_eight_rows_of_the_papers_tables(samples, paper):
    result = evaluate(samples.take(np.arange(300)), bases="all", seeds=[1], paper=paper)
    informed = {choice.base: choice.informed for choice in result.informed}
    assert list(informed) == [
        *("identity", "temperature", "ensemble-temperature", "parameterized-temperature", "neighbor-temperature"),
        *("histogram", "isotonic", "multi-isotonic"),
    ]
    if paper:
        assert list(informed.values()) == ["density-ratio"] * 5 + ["bin-mean-shift"] * 3
