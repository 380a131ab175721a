import csv
import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

import proxcal as px

QUICK = ("--informed", "bin-mean-shift")


@pytest.fixture
def zoo(files, tmp_path):
    """Two models' files, in the folder that the command runs in, and what is known of them."""
    for name in ("first", "second"):
        (tmp_path / f"{name}.npz").write_bytes(files[name].read_bytes())
    (tmp_path / "families.csv").write_text("file,family\nfirst,CNN\nsecond,transformer\n")
    return ("first.npz", "second.npz")


def test_json_is_the_sweep(proxcal, zoo):
    code, out, err = proxcal("sweep", *zoo, "-o", "r.csv", *QUICK, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out) == json.loads(px.sweep(zoo, informed="bin-mean-shift").to_json())


def test_options_reach_the_sweep(proxcal, zoo):
    several = ("--base", "histogram", "--base", "identity", "--seeds", "3", "4", "--fraction", "0.4", "--paper")
    _, out, _ = proxcal("sweep", *zoo, "-o", "r.csv", *several, "--metadata", "families.csv", "--json")
    records = json.loads(out)["records"]
    assert {r["calibrator"] for r in records} == {"histogram", "histogram+ours", "identity", "identity+ours"}
    assert {r["seed"] for r in records} == {3, 4}
    assert {r["n_calibration"] for r in records} == {120}
    assert {r["family"] for r in records} == {"CNN", "transformer"}
    assert {r["informed"] for r in records} == {None, "density-ratio", "bin-mean-shift"}


def test_the_results_are_in_the_file_and_the_tables_fit_80_columns(proxcal, zoo):
    code, out, _ = proxcal("sweep", *zoo, "-o", "r.csv", *QUICK, "--metadata", "families.csv")
    assert code == 0
    tables, _, _ = out.partition("Results: ")
    assert max(map(len, tables.splitlines())) <= 80
    assert all(word in out for word in ("PIECE", "Bonferroni", "CNN", "r.csv"))
    assert not re.search(r"\bnan\b", out)
    with open("r.csv", newline="") as file:
        assert len(list(csv.DictReader(file))) == 2 * 3


def test_a_second_run_goes_on_from_the_first_and_says_the_same(proxcal, zoo, monkeypatch):
    first = proxcal("sweep", *zoo, "-o", "r.csv", *QUICK)
    monkeypatch.setattr(sys.modules["proxcal.experiments.sweep"], "run_split", None)
    assert proxcal("sweep", *zoo, "-o", "r.csv", *QUICK)[:2] == first[:2]


def test_other_settings_are_refused_in_one_line_and_force_starts_anew(proxcal, zoo):
    proxcal("sweep", *zoo, "-o", "r.csv", *QUICK)
    code, out, err = proxcal("sweep", *zoo, "-o", "r.csv", *QUICK, "--neighbors", "5")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("proxcal: r.csv has results with n_neighbors 10, and this sweep has n_neighbors 5")
    assert proxcal("sweep", *zoo, "-o", "r.csv", *QUICK, "--neighbors", "5", "--force")[0] == 0


def test_a_bad_file_is_a_line_on_stderr_and_left_out(proxcal, zoo, files):
    code, out, err = proxcal("sweep", *zoo, files["bare"], "-o", "r.csv", "--seeds", "1", "2", *QUICK)
    assert code == 0
    assert err == f"proxcal: warning: left out: {files['bare']} has no features: without them there is no proximity\n"
    assert "bare.npz" in out.partition("Left out, see column error:")[2]


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="no process groups here")
def test_interrupted_from_the_terminal_it_says_how_to_resume(zoo, tmp_path):
    """Ctrl-C reaches every process of the terminal, the workers too."""
    command = [
        sys.executable,
        "-c",
        "from proxcal.cli import main; main()",
        "sweep",
        *zoo,
        "-o",
        "r.csv",
        "--jobs",
        "2",
    ]
    running = subprocess.Popen(
        [*command, "--seeds", *map(str, range(200))],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # whoever runs the tests may ignore it
    )
    while not (tmp_path / "r.csv").exists() or (tmp_path / "r.csv").read_text().count("\n") < 9:
        assert running.poll() is None
        time.sleep(0.05)
    os.killpg(running.pid, signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert (running.returncode, out) == (130, "")
    assert err == "proxcal: interrupted: r.csv keeps what is done; the same command, without --force, resumes\n"


def test_figures_are_drawn_into_a_folder_and_never_over_others(proxcal, zoo, tmp_path):
    code, out, _ = proxcal("sweep", *zoo, "-o", "r.csv", *QUICK, "--figures", "pictures")
    names = {path.name for path in (tmp_path / "pictures").iterdir()}
    assert (code, names) == (0, {"bias-index.png", "ece.png", "ace.png", "mce.png", "piece.png"})
    assert all(name in out for name in names)
    mine = tmp_path / "pictures" / "mce.png"
    mine.write_bytes(b"mine")
    code, _, err = proxcal("sweep", *zoo, "-o", "other.csv", *QUICK, "--figures", "pictures")
    assert (code, mine.read_bytes()) == (2, b"mine")
    assert "exists; give --figures another folder" in err
    assert not (tmp_path / "other.csv").exists()
    assert proxcal("sweep", *zoo, "-o", "r.csv", *QUICK, "--figures", "pictures", "--force")[0] == 0
    assert mine.read_bytes() != b"mine"


@pytest.mark.filterwarnings("ignore::proxcal.ProxcalWarning")
def test_a_bias_that_cannot_be_tested_is_said_in_words(proxcal, samples, tmp_path):
    one = px.Predictions(logits=samples.logits, labels=samples.labels, features=samples.features[:1].repeat(600, 0))
    one.save(tmp_path / "one.npz")
    _, out, _ = proxcal("sweep", "one.npz", "-o", "r.csv", *QUICK, "--figures", "pictures")
    assert "unknown" in out
    assert "bias-index.png" not in out
    assert "piece.png" in out
    assert "Warnings on 3 of 3 results" in out
    assert not re.search(r"\bnan\b|%.*\bNone\b", out)
