import importlib
import json

import numpy as np
import pytest

import proxcal as px
from proxcal._arrays import write_arrays

QUICK = ("--informed", "none")
pytestmark = pytest.mark.filterwarnings("ignore::proxcal.ProxcalWarning")


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch):
    """Whole audits, but for how often is resampled."""
    report = importlib.import_module("proxcal.report")
    whole = report.audit
    monkeypatch.setattr(report, "audit", lambda *given, **settings: whole(*given, n_resamples=20, **settings))


@pytest.fixture
def file(samples, tmp_path):
    """Predictions with ids, in the folder where the command runs."""
    arrays = {"logits": samples.logits, "labels": samples.labels, "features": samples.features}
    write_arrays(tmp_path / "val.npz", arrays | {"ids": np.array([f"photo {i}" for i in range(len(samples))])})
    return "val.npz"


def test_it_says_the_verdict_and_where_the_page_is(proxcal, file, tmp_path):
    code, out, _ = proxcal("audit", file, *QUICK)
    assert code == 0
    assert "After temperature scaling: " in out
    assert "lowest fifth" in out
    assert f"Page: {tmp_path / 'audit.html'}" in out
    assert (tmp_path / "audit.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert max(len(line.rstrip()) for line in out.splitlines() if not line.startswith("Page: ")) <= 80


def test_json_is_the_audit(proxcal, file):
    _, out, _ = proxcal("audit", file, "--json", "--informed", "logistic", "--seed", "7")
    printed, expected = json.loads(out), px.audit(file, informed="logistic", seed=7, n_resamples=20).to_dict()
    assert printed | {"command": ""} == expected | {"command": ""}


def test_options_reach_the_audit(proxcal, files, tmp_path):
    given = ("--calibration", files["first"], "--base", "identity", "--informed", "none", "--neighbors", "5")
    _, out, _ = proxcal("audit", files["second"], *given, "--train", files["first"], "--json", "-o", "page.html")
    found = json.loads(out)
    assert [stage["name"] for stage in found["stages"]] == ["base", "ours"]
    assert (found["settings"]["n_neighbors"], found["samples"]["test"]) == (5, 300)
    assert sum(found["overfitting"]["train_count"]) == 300
    assert (tmp_path / "page.html").is_file()


def test_ids_in_the_file_are_shown(proxcal, file, tmp_path):
    _, out, _ = proxcal("audit", file, *QUICK, "--json")
    assert all(sample["id"] == f"photo {sample['row']}" for sample in json.loads(out)["overconfident"])
    assert "photo " in (tmp_path / "audit.html").read_text(encoding="utf-8")


def test_a_page_that_exists_is_kept_unless_forced(proxcal, file, tmp_path):
    page = tmp_path / "audit.html"
    page.write_text("mine")
    code, _, err = proxcal("audit", file)
    assert (code, page.read_text()) == (2, "mine")
    assert "--force" in err
    assert proxcal("audit", file, *QUICK, "--force")[0] == 0
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_a_label_outside_the_classes_says_that_it_cannot_be_judged(proxcal, samples, tmp_path):
    labels = np.array(samples.labels)
    labels[7] = 10
    write_arrays(tmp_path / "ood.npz", {"logits": samples.logits, "labels": labels, "features": samples.features})
    code, _, err = proxcal("audit", "ood.npz")
    assert code == 2
    assert "labels has 10 in row 7; with 10 classes it needs 0 to 9 (a sample of no known class cannot be judged" in err
