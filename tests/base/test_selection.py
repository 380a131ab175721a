import numpy as np
import pytest

from proxcal._validation import ProxcalWarning
from proxcal.base import EnsembleTemperatureScaling, Identity, TemperatureScaling, VectorScaling
from proxcal.base.selection import candidates, select_base


def multiclass_log_loss(base, logits, labels):
    return -np.log(base.predict_proba(logits)[np.arange(len(labels)), labels]).mean()


def test_scores_that_are_calibrated_are_left_as_they_are(simulate):
    chosen, record = select_base(*simulate(n=3000, temperature=1), "logits", 0)
    assert isinstance(chosen, Identity)
    assert record["chosen"] == "identity"


def test_one_temperature_is_chosen_where_it_is_all_that_is_wrong(simulate):
    chosen, _ = select_base(*simulate(n=3000, temperature=2), "logits", 0)
    assert isinstance(chosen, TemperatureScaling)


def test_a_share_of_random_labels_wants_the_ensemble(simulate):
    logits, labels = simulate(n=4000, temperature=1)
    rng = np.random.default_rng(1)
    labels = np.where(rng.random(4000) < 0.3, rng.integers(5, size=4000), labels)
    chosen, _ = select_base(3 * logits, labels, "logits", 0)
    assert isinstance(chosen, EnsembleTemperatureScaling)


def test_a_bias_of_each_class_wants_vector_scaling(simulate):
    logits, labels = simulate(n=3000, temperature=1)
    chosen, _ = select_base(logits + np.arange(5), labels, "logits", 0)
    assert isinstance(chosen, VectorScaling)


@pytest.mark.parametrize(("n", "tried"), [(199, False), (200, True)])
def test_vector_scaling_is_tried_with_twenty_samples_a_class(n, tried):
    assert ("vector" in candidates("logits", n, 10)) == tried


def test_the_record_says_what_each_candidate_scored_and_why_one_was_chosen(simulate):
    _, record = select_base(*simulate(), "logits", 0)
    names = {"identity", "temperature", "ensemble-temperature", "vector"}
    assert record["log_loss"].keys() == names
    assert record["standard_error_of_gain"].keys() == names - {"identity"}
    assert record["chosen"] in record["reason"]


def test_its_log_losses_are_those_of_new_samples(simulate):
    logits, labels = simulate(n=3000, temperature=2)
    _, record = select_base(logits, labels, "logits", 0)
    new = multiclass_log_loss(TemperatureScaling().fit(logits, labels), *simulate(n=20_000, temperature=2, seed=1))
    assert record["log_loss"]["temperature"] == pytest.approx(new, abs=0.03)


def test_the_choice_is_the_same_for_the_same_random_state(simulate):
    assert select_base(*simulate(), "logits", 3)[1] == select_base(*simulate(), "logits", 3)[1]


def test_few_samples_get_temperature_scaling_and_say_so(simulate):
    with pytest.warns(ProxcalWarning, match="99 calibration samples are too few to choose a base by"):
        chosen, record = select_base(*simulate(n=99), "logits", 0)
    assert isinstance(chosen, TemperatureScaling)
    assert record["chosen"] == "temperature"
