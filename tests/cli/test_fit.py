import io
import json

import numpy as np
import pytest
from rich.console import Console

import proxcal as px
from proxcal.cli._choice import print_choice


def test_it_writes_the_calibrator_that_procal_fits(proxcal, files, samples):
    code, _, err = proxcal("fit", files["first"], "-o", "model.proxcal", "--informed", "logistic", "--neighbors", "7")
    assert (code, err) == (0, "")
    first, second = samples.split(0.5)
    expected = px.ProCal(informed="logistic", n_neighbors=7).fit(first.logits, first.labels, features=first.features)
    np.testing.assert_array_equal(
        px.ProCal.load("model.proxcal").confidence(second.logits, second.features),
        expected.confidence(second.logits, second.features),
    )


@pytest.mark.filterwarnings("ignore::proxcal.ProxcalWarning")
@pytest.mark.parametrize(
    ("options", "settings"),
    [
        ([], {"base": "temperature", "informed": "auto", "rows": "keep", "n_neighbors": 10, "normalize": True}),
        (["--informed", "none", "--base", "identity"], {"informed": None, "base": "identity"}),
        (["--no-normalize", "--informed", "logistic"], {"normalize": False, "informed": "logistic"}),
        (["--metric", "cosine", "--rows", "rerank"], {"metric": "cosine", "rows": "rerank"}),
        (["--paper"], {"normalize": False, "rows": "paper"}),
        (["--paper", "--rows", "keep"], {"normalize": False, "rows": "keep"}),
    ],
)
def test_its_options_are_procals_settings(proxcal, files, options, settings):
    assert proxcal("fit", files["first"], "-o", "model.proxcal", *options)[0] == 0
    fitted = px.ProCal.load("model.proxcal").get_params(deep=False)
    assert {name: fitted[name] for name in settings} == settings


def test_the_index_is_chosen_and_told_of(proxcal, files):
    _, out, _ = proxcal("fit", files["first"], "-o", "model.proxcal", "--index", "auto")
    assert "exact, finds 100.0 % of the neighbours" in " ".join(out.split())
    assert px.ProCal.load("model.proxcal").index == "auto"
    _, out, _ = proxcal("fit", files["first"], "-o", "model.proxcal", "--index", "auto", "--json", "--force")
    assert (json.loads(out)["index"], json.loads(out)["recall"]) == ("exact", 1.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--index", "best"], "index must be one of 'auto', 'exact', 'flat', 'ivfflat', 'ivfpq', 'hnsw'; got 'best'"),
        (["--index", "hnsw", "--device", "cpu"], "device is 'cpu'; index='hnsw' is searched by faiss on the CPU"),
    ],
)
def test_an_index_that_there_is_not_is_refused(proxcal, files, options, message):
    code, out, err = proxcal("fit", files["first"], "-o", "model.proxcal", *options)
    assert (code, out) == (2, "")
    assert message in " ".join(err.split())


def test_it_takes_probabilities(proxcal, files):
    assert proxcal("fit", files["probs"], "-o", "model.proxcal")[0] == 0
    assert px.ProCal.load("model.proxcal").input == "probs"


def test_it_says_what_was_chosen_and_why(proxcal, files):
    _, out, _ = proxcal("fit", files["first"], "-o", "model.proxcal")
    fitted = px.ProCal.load("model.proxcal")
    assert fitted.selection_["chosen"] in out
    assert "held-out log loss" in " ".join(out.split())
    assert f"T = {fitted.base_.temperature_:.4g}" in out


def test_it_says_which_base_was_chosen_and_why(proxcal, files):
    _, out, _ = proxcal("fit", files["first"], "-o", "model.proxcal", "--base", "auto")
    record = px.ProCal.load("model.proxcal").selection_["base"]
    assert f"Base chosen on the calibration samples: {record['chosen']} ({record['reason']})." in " ".join(out.split())
    assert max(map(len, out.splitlines())) <= 80


def test_json_has_what_was_chosen(proxcal, files):
    _, out, _ = proxcal("fit", files["first"], "-o", "model.proxcal", "--json")
    found, fitted = json.loads(out), px.ProCal.load("model.proxcal")
    assert found["selection"] == fitted.selection_
    assert found["temperature"] == fitted.base_.temperature_
    assert (found["samples"], found["classes"], found["output"]) == (300, 10, "model.proxcal")


def test_what_neighbour_votes_do_to_predictions_is_said(proxcal, files):
    given = ("fit", files["first"], "-o", "model.proxcal", "--base", "neighbor-votes", "--informed", "none", "--force")
    _, out, _ = proxcal(*given)
    said = px.ProCal.load("model.proxcal").base_.accuracy_change_
    assert (
        f"predictions change for {100 * said['changed']:.1f} % of samples; accuracy {100 * said['change']:+.1f}"
        f" points, 95 % interval {100 * said['low']:+.1f} to {100 * said['high']:+.1f}, on held-out folds"
    ) in " ".join(out.split())
    assert max(map(len, out.splitlines())) <= 80
    assert json.loads(proxcal(*given, "--json")[1])["accuracy_change"] == said


def test_of_a_base_that_does_not_say_nothing_is_said(proxcal, files):
    given = ("fit", files["first"], "-o", "model.proxcal", "--informed", "logistic", "--force")
    assert "predictions" not in proxcal(*given)[1]
    assert json.loads(proxcal(*given, "--json")[1])["accuracy_change"] is None


def test_a_gain_below_zero_fits_a_terminal_too():
    console = Console(width=80, file=(out := io.StringIO()))
    names = ("logistic", "neighborhood", "density-ratio", "bin-mean-shift")
    selection = {
        "chosen": "none",
        "reason": "nothing is better",
        "log_loss": {"none": 0.5} | dict.fromkeys(names, 0.5001),
        "standard_error_of_gain": dict.fromkeys(names, 0.0001),
    }
    print_choice(console, selection)
    assert "standard" in out.getvalue()
    assert "-0.0001" in out.getvalue()
