import json

import numpy as np
import pytest

import proxcal as px


@pytest.fixture
def model(files, proxcal):
    proxcal("fit", files["first"], "-o", "model.proxcal", "--informed", "logistic")
    return px.ProCal.load("model.proxcal")


@pytest.fixture
def shifted(samples, model):
    """The second half's embeddings, far from what they were."""
    second = samples.split(0.5)[1]
    features = second.features + 3 * np.random.default_rng(0).normal(size=second.features.shape)
    px.Predictions(logits=second.logits, labels=second.labels, features=features).save("shifted.npz")
    return "shifted.npz"


def test_json_has_the_record_of_each_look(proxcal, files, samples, model):
    arguments = "--window", 150, "--batch-size", 100, "--tolerance", 0.1, "--false-alarms", 0.2, "--json"
    code, out, _ = proxcal("monitor", "model.proxcal", files["second"], *arguments)
    monitor = px.Monitor(window=150, tolerance=0.1, false_alarms=0.2).fit(model)
    second = samples.split(0.5)[1]
    assert code == 0
    for i, found in enumerate(json.loads(out)):
        part = second.take(np.arange(100 * i, 100 * i + 100))
        record = monitor.update(part.logits, part.features, part.labels)
        assert found["batch"] == f"second.npz {i + 1}/3"
        assert found["gap"] == vars(record.gap)
        assert found["percentile"] == vars(record.percentile)
        assert (found["n_samples"], found["drifted"]) == (record.n_samples, list(record.drifted))


def test_the_table_says_where_drift_began(proxcal, files, shifted):
    code, out, _ = proxcal("monitor", "model.proxcal", files["second"], shifted, "--window", 300)
    assert code == 0
    assert "Drift: proximity percentile, first in shifted.npz" in out
    assert max(map(len, out.splitlines())) <= 80


def test_without_drift_it_says_so(proxcal, files, model):
    assert "No drift." in proxcal("monitor", "model.proxcal", files["second"])[1]


def test_long_names_keep_their_parts_in_sight(proxcal, samples, model):
    name = "predictions_of_the_first_day_of_the_last_month_of_the_year.npz"
    samples.save(name)
    _, out, _ = proxcal("monitor", "model.proxcal", name, "-b", 300)
    assert "npz 2/2" in out
    assert max(map(len, out.split("Drift")[0].splitlines())) <= 80


@pytest.mark.parametrize("drifts", [True, False])
def test_the_exit_code_tells_of_drift_where_asked(proxcal, files, shifted, drifts):
    last = [shifted] if drifts else []
    assert proxcal("monitor", "model.proxcal", files["second"], *last, "--fail-on-drift")[0] == int(drifts)


def test_labels_are_not_needed(proxcal, files, model):
    code, out, _ = proxcal("monitor", "model.proxcal", files["unlabelled"], "--json")
    assert (code, json.loads(out)[0]["gap"]) == (0, None)


def test_a_state_goes_on_as_if_all_batches_had_come_at_once(proxcal, files, shifted):
    _, at_once, _ = proxcal("monitor", "model.proxcal", files["second"], shifted, "--json", "--window", 400)
    proxcal("monitor", "model.proxcal", files["second"], "--state", "s.proxcal", "--window", 400)
    _, later, _ = proxcal("monitor", "model.proxcal", shifted, "--state", "s.proxcal", "--json")
    assert json.loads(later)[0] == json.loads(at_once)[1]


def test_a_calibrator_is_told_from_a_state_in_one_line(proxcal, files, model):
    expected = (
        "proxcal: model.proxcal holds a ProCal, not a Monitor: give the file of a Monitor; a ProCal is for ProCal.load"
        " or a command's MODEL\n"
    )
    assert proxcal("monitor", "model.proxcal", files["second"], "--state", "model.proxcal") == (2, "", expected)


def test_a_run_that_fails_leaves_the_state_as_it_was(proxcal, files, model):
    proxcal("monitor", "model.proxcal", files["second"], "--state", "s.proxcal")
    before = px.Monitor.load("s.proxcal", model).n_looks_
    assert proxcal("monitor", "model.proxcal", files["second"], files["bare"], "--state", "s.proxcal")[0] == 2
    assert px.Monitor.load("s.proxcal", model).n_looks_ == before == 1


def test_other_samples_may_show_what_is_normal(proxcal, files, shifted):
    _, out, _ = proxcal("monitor", "model.proxcal", shifted, "--normal", shifted, "--json")
    assert json.loads(out)[0]["percentile"]["value"] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (("--window", 7), "--window is 7; s.proxcal was begun with 1000"),
        (("--false-alarms", 0.1), "--false-alarms is 0.1; s.proxcal was begun with 0.05"),
        (("--normal", "model.proxcal"), "leave --normal out"),
    ],
)
def test_a_state_keeps_the_settings_it_was_begun_with(proxcal, files, model, option, message):
    proxcal("monitor", "model.proxcal", files["second"], "--state", "s.proxcal")
    code, _, err = proxcal("monitor", "model.proxcal", files["second"], "--state", "s.proxcal", *option)
    assert code == 2
    assert message in err
