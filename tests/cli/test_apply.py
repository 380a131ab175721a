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


def copies(path, folder, suffix):
    """The same predictions in a file of another kind, or a folder."""
    loaded = px.Predictions.load(path)
    if suffix:
        loaded.save(folder / f"other{suffix}")
        return folder / f"other{suffix}"
    (folder / "other").mkdir()
    for name in ("logits", "labels", "features"):
        np.save(folder / "other" / f"{name}.npy", getattr(loaded, name))
    return folder / "other"


@pytest.mark.parametrize("suffix", ["", ".safetensors", ".parquet"])
def test_the_output_does_not_depend_on_the_kind_of_file(proxcal, files, model, tmp_path, suffix):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    proxcal("apply", "model.proxcal", files["second"], "-o", "expected.csv")
    code, _, err = proxcal("apply", "model.proxcal", copies(files["second"], tmp_path, suffix), "-o", "out.csv")
    assert (code, err) == (0, "")
    assert (tmp_path / "out.csv").read_bytes() == (tmp_path / "expected.csv").read_bytes()


def test_parquet_holds_what_npz_holds(proxcal, files, model):
    parquet = pytest.importorskip("pyarrow.parquet")
    for output in ("out.npz", "out.parquet"):
        proxcal("apply", "model.proxcal", files["second"], "-o", output)
    found, expected = parquet.read_table("out.parquet"), load_npz("out.npz")
    assert found.column_names == list(expected)
    for name in expected:
        np.testing.assert_array_equal(np.array(found[name].to_pylist()), expected[name])


def test_a_monitors_state_is_told_from_a_calibrator_in_one_line(proxcal, files, model):
    assert proxcal("monitor", "model.proxcal", files["second"], "--state", "state.proxcal")[0] == 0
    expected = (
        "proxcal: state.proxcal holds a Monitor, not a ProCal: give the file of a ProCal; a Monitor is for Monitor.load"
        " or proxcal monitor --state\n"
    )
    assert proxcal("apply", "state.proxcal", files["second"], "-o", "out.csv") == (2, "", expected)


def test_a_failed_run_leaves_nothing_behind(proxcal, files, model, tmp_path):
    before = sorted(tmp_path.iterdir())
    code, _, err = proxcal("apply", "model.proxcal", files["probs"], "-o", "out.npz")
    assert (code, "has probs" in err) == (2, True)
    assert sorted(tmp_path.iterdir()) == before
