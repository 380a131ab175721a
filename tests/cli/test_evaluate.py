import csv
import json

import pytest

from proxcal.experiments import METRICS, evaluate
from proxcal.experiments.evaluation import Choice, Comparison, Evaluation

QUICK = ("--informed", "logistic", "--base", "temperature")


@pytest.mark.parametrize(
    "options",
    [
        ("--seeds", "3", "4", "5", "FILE"),
        ("FILE", "--seeds", "3", "4", "5"),
        ("--seeds", "3,4,5", "FILE"),
        ("--seeds=3 4 5", "FILE"),
        ("FILE", "--seeds", "3", "4", "5", "--rows", "keep"),
    ],
)
def test_seeds_may_be_several(proxcal, files, options):
    given = [files["first"] if option == "FILE" else option for option in options]
    code, out, err = proxcal("evaluate", *given, *QUICK, "--json")
    assert (code, err) == (0, "")
    assert {record["seed"] for record in json.loads(out)["records"]} == {3, 4, 5}


def test_json_is_the_evaluation(proxcal, files, samples):
    first, _ = samples.split(0.5)
    _, out, _ = proxcal("evaluate", files["first"], "--seeds", "1", "2", *QUICK, "--json")
    expected = evaluate({str(files["first"]): first}, bases=["temperature"], seeds=[1, 2], informed="logistic")
    assert json.loads(out) == expected.to_dict()


def test_several_bases_and_a_given_split(proxcal, files):
    given = ("--calibration", files["first"], "--test", files["second"])
    _, out, _ = proxcal("evaluate", *given, "--base", "identity", *QUICK, "--json")
    found = json.loads(out)
    assert {record["base"] for record in found["records"]} == {"identity", "temperature"}
    assert found["test"] == "paired bootstrap of test samples"


def test_csv_has_a_row_a_value(proxcal, files):
    code, out, _ = proxcal("evaluate", files["first"], "--seeds", "1", "2", *QUICK, "--csv", "values.csv")
    assert code == 0
    assert "PIECE" in out
    with open("values.csv", newline="") as file:
        assert len(list(csv.DictReader(file))) == 2 * 2 * len(METRICS)


def test_several_files_have_a_table_each_and_one_of_means(proxcal, files):
    _, out, _ = proxcal("evaluate", files["first"], files["second"], "--seeds", "1", *QUICK)
    assert out.count("+ours ") >= 3
    assert "first.npz" in out
    assert "Mean of the 2 files" in out


@pytest.mark.parametrize("base", ["parameterized-temperature", "multi-isotonic"])
@pytest.mark.parametrize("loss", [0.41, 1.23, 36.0437])  # the largest that a mean log loss can be
def test_the_table_fits_80_columns_whatever_its_values(proxcal, files, monkeypatch, base, loss):
    largest = dict.fromkeys(METRICS, 1.0) | {"nll": loss, "multiclass_nll": loss}
    wide = [Comparison(str(files["first"]), base, m, v, v, "ours", 0.01) for m, v in largest.items()]
    result = Evaluation([], wide, [Choice("f", 1, base, "logistic", None)], "paired", False, {})
    monkeypatch.setattr("proxcal.experiments.evaluate", lambda *_, **__: result)
    _, out, _ = proxcal("evaluate", files["first"])
    table = out[out.index("Base") : out.index("All times 100")]
    assert max(map(len, table.splitlines())) <= 80
    assert "…" not in table


@pytest.mark.parametrize(
    ("better", "p_value", "mark"), [("ours", 0.01, "1.00*"), ("ours", 0.5, "1.00'"), ("base", 0.01, "2.00*")]
)
def test_the_better_of_each_pair_is_marked(proxcal, files, monkeypatch, better, p_value, mark):
    of_base, of_ours = (0.02, 0.01)
    summary = [Comparison(str(files["first"]), "identity", m, of_base, of_ours, better, p_value) for m in METRICS]
    result = Evaluation([], summary, [], "paired", False, {})
    monkeypatch.setattr("proxcal.experiments.evaluate", lambda *_, **__: result)
    _, out, _ = proxcal("evaluate", files["first"])
    assert out.count(mark) == len(METRICS)


@pytest.mark.filterwarnings("ignore::proxcal.ProxcalWarning")
def test_paper_says_that_mce_is_weighted(proxcal, files):
    _, out, _ = proxcal("evaluate", files["first"], "--seeds", "1", "--base", "temperature", "--paper")
    assert "MCE is weighted" in " ".join(out.split())


def test_the_table_says_what_neighbour_votes_do_to_predictions(proxcal, files):
    given = ("evaluate", files["first"], "--seeds", "1", "2", "--informed", "logistic", "--base", "neighbor-votes")
    code, out, _ = proxcal(*given)
    assert code == 0
    found = [fit["accuracy_change"] for fit in json.loads(proxcal(*given, "--json")[1])["informed"]]
    mean = {name: 100 * (found[0][name] + found[1][name]) / 2 for name in found[0]}
    assert (
        f"Base neighbor-votes: predictions change for {mean['changed']:.1f} % of samples; accuracy"
        f" {mean['change']:+.1f} points, 95 % interval {mean['low']:+.1f} to {mean['high']:+.1f}, on held-out folds"
        " (means of 2 fits)."
    ) in " ".join(out.split())


def test_of_bases_that_keep_predictions_the_table_says_nothing(proxcal, files):
    assert "held-out folds" not in proxcal("evaluate", files["first"], "--seeds", "1", *QUICK)[1]


def test_it_says_which_base_was_chosen(proxcal, files):
    _, out, _ = proxcal("evaluate", files["first"], "--base", "auto", "--base", "temperature", "--seeds", "1", "2")
    lines = out.splitlines()
    assert any(line.startswith("Base, auto: ") and line.endswith(" of 2.") for line in lines)
    assert not any(line.startswith("Base, temperature") for line in lines)
    assert sum(line.startswith("Informed calibrator, ") for line in lines) == 2
