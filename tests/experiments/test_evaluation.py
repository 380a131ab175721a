import csv
import json

import pytest

from proxcal.experiments import evaluate
from proxcal.experiments.evaluation import Comparison


@pytest.fixture(scope="module")
def evaluation(samples):
    return evaluate({"a, b.npz": samples}, bases=["temperature"], seeds=[0, 1], informed="logistic")


def test_csv_has_a_row_a_record_and_loses_no_digit(evaluation, tmp_path):
    evaluation.to_csv(tmp_path / "out.csv")
    with (tmp_path / "out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(r["file"], r["metric"], float(r["value"])) for r in rows] == [
        (r.file, r.metric, r.value) for r in evaluation.records
    ]


def test_csv_keeps_a_file_that_exists(evaluation, tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("mine")
    with pytest.raises(ValueError, match="exists"):
        evaluation.to_csv(path)
    assert path.read_text() == "mine"


def test_csv_replaces_it_when_told_to(evaluation, tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("mine")
    evaluation.to_csv(path, overwrite=True)
    assert path.read_text().startswith("file,seed,base,method,metric,value")


def test_json_is_the_dictionary(evaluation):
    assert json.loads(evaluation.to_json()) == evaluation.to_dict()


def test_the_summary_has_the_mean_over_seeds(evaluation):
    found = [r.value for r in evaluation.records if (r.method, r.metric) == ("ours", "brier")]
    assert evaluation.of("a, b.npz", "temperature")["brier"].ours_value == pytest.approx(sum(found) / 2)


@pytest.mark.parametrize(("p_value", "significant"), [(0.0999, True), (0.1, False)])
def test_a_star_needs_a_p_value_below_a_tenth(p_value, significant):
    assert Comparison("a", "identity", "ece", 0.2, 0.1, "ours", p_value).significant == significant
