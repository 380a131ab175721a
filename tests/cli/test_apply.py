import csv
import json

import numpy as np
import pytest
from safetensors.numpy import load_file

import proxcal as px


@pytest.fixture
def model(files, proxcal):
    proxcal("fit", files["first"], "-o", "model.proxcal", "--informed", "logistic")
    return px.ProCal.load("model.proxcal")


def load_npz(path):
    with np.load(path) as arrays:
        return dict(arrays)


@pytest.mark.parametrize(("suffix", "load"), [("npz", load_npz), ("safetensors", load_file)])
def test_arrays_are_what_the_calibrator_says(proxcal, files, samples, model, suffix, load):
    assert proxcal("apply", "model.proxcal", files["second"], "-o", f"out.{suffix}")[0] == 0
    found, (_, second) = load(f"out.{suffix}"), samples.split(0.5)
    given = second.logits, second.features
    np.testing.assert_array_equal(found["probs"], model.predict_proba(*given))
    np.testing.assert_array_equal(found["confidence"], model.confidence(*given))
    np.testing.assert_array_equal(found["prediction"], model.predict(*given))
    np.testing.assert_allclose(found["proximity"], model.proximity_.score(second.features), rtol=1e-12)


def test_csv_has_a_row_a_sample(proxcal, files, samples, model):
    proxcal("apply", "model.proxcal", files["second"], "-o", "out.csv")
    with open("out.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    _, second = samples.split(0.5)
    assert list(rows[0]) == ["index", "prediction", "confidence", "proximity"]
    assert [int(row["index"]) for row in rows] == list(range(300))
    confidence = model.confidence(second.logits, second.features)
    np.testing.assert_array_equal([float(row["confidence"]) for row in rows], confidence)


def test_labels_are_not_needed(proxcal, files, model):
    code, out, _ = proxcal("apply", "model.proxcal", files["unlabelled"], "-o", "out.csv")
    assert code == 0
    assert "accuracy" not in out


def test_without_an_informed_step_features_are_not_needed(proxcal, files):
    proxcal("fit", files["first"], "-o", "model.proxcal", "--informed", "none")
    assert proxcal("apply", "model.proxcal", files["bare"], "-o", "out.npz")[0] == 0
    assert set(load_npz("out.npz")) == {"probs", "prediction", "confidence"}


def test_json_sums_up(proxcal, files, samples, model):
    _, out, _ = proxcal("apply", "model.proxcal", files["second"], "-o", "out.csv", "--json")
    _, second = samples.split(0.5)
    found = json.loads(out)
    assert (found["samples"], found["output"]) == (300, "out.csv")
    assert found["accuracy"] == pytest.approx(np.mean(second.logits.argmax(axis=1) == second.labels))
