import warnings

import numpy as np
import pytest

from proxcal._held_out import simplest_within_one_error
from proxcal._validation import ProxcalWarning
from proxcal.informed import NeighborhoodLogistic, ProximityLogistic, Samples, select


def as_samples(biased, *, evidence):
    return Samples(biased.confidence, biased.proximity, biased.evidence if evidence else None)


def test_nothing_is_chosen_where_there_is_no_bias(biased):
    data = biased(2000, strength=0)
    chosen, record = select(as_samples(data, evidence=False), data.correct, 0)
    assert chosen is None
    assert record["chosen"] == "none"


def test_the_logistic_surface_is_chosen_for_smooth_bias(biased):
    data = biased(5000)
    chosen, record = select(as_samples(data, evidence=False), data.correct, 0)
    assert isinstance(chosen, ProximityLogistic)
    assert record["log_loss"]["logistic"] < record["log_loss"]["none"]


def test_evidence_is_chosen_where_it_tells_more(biased):
    data = biased(5000)
    chosen, record = select(as_samples(data, evidence=True), data.correct, 0)
    assert isinstance(chosen, NeighborhoodLogistic)
    assert record["chosen"] == "neighborhood"


def test_the_record_says_what_each_candidate_scored_and_why_one_was_chosen(biased):
    data = biased(500)
    _, record = select(as_samples(data, evidence=True), data.correct, 0)
    names = {"logistic", "neighborhood", "density-ratio", "bin-mean-shift"}
    assert record["log_loss"].keys() == names | {"none"}
    assert record["standard_error_of_gain"].keys() == names
    assert record["chosen"] in record["reason"]


def test_the_choice_is_the_same_for_the_same_random_state(biased):
    data = biased(800)
    assert (
        select(as_samples(data, evidence=True), data.correct, 3)[1]
        == select(as_samples(data, evidence=True), data.correct, 3)[1]
    )


def test_the_simpler_is_taken_within_one_standard_error():
    noise = np.random.default_rng(0).normal(size=100)
    losses = {"none": np.ones(100), "simple": 0.5 + 0 * noise, "complex": 0.49 + noise - noise.mean()}
    assert simplest_within_one_error(losses)[0] == "simple"


def test_the_better_is_taken_beyond_one_standard_error():
    losses = {"none": np.ones(100), "simple": np.full(100, 0.5), "complex": np.full(100, 0.4)}
    assert simplest_within_one_error(losses)[0] == "complex"


@pytest.mark.parametrize("n", [1, 20, 99])
def test_too_few_samples_choose_nothing_and_say_so(biased, n):
    data = biased(n)
    with pytest.warns(ProxcalWarning, match=f"{n} calibration samples are too few"):
        chosen, record = select(as_samples(data, evidence=True), data.correct, 0)
    assert chosen is None
    assert "too few" in record["reason"]


@pytest.mark.parametrize("right", [True, False])
def test_predictions_that_are_all_alike_choose_nothing_and_say_so(biased, right):
    data = biased(200)
    with pytest.warns(ProxcalWarning, match="every calibration sample is"):
        chosen, _ = select(as_samples(data, evidence=True), np.full(200, right), 0)
    assert chosen is None


def test_a_fold_without_errors_does_not_disturb(biased):
    data = biased(150)
    data.correct[:] = True
    data.correct[:3] = False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        select(as_samples(data, evidence=True), data.correct, 0)
