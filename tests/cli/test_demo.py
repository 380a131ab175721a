import importlib
import json
import re
import subprocess
import sys
import time

import pytest

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The command as a newcomer runs it: where, what it printed, how long it took."""
    folder = tmp_path_factory.mktemp("demo")
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", "from proxcal.cli import main; main()", "demo"],
        cwd=folder,
        capture_output=True,
        text=True,
        env={"COLUMNS": "80", "OMP_NUM_THREADS": "1", "MPLCONFIGDIR": str(folder)},
    )
    assert (done.returncode, done.stderr) == (0, "")
    return folder, done.stdout, time.perf_counter() - start


@pytest.fixture
def small(monkeypatch, samples):
    monkeypatch.setattr(importlib.import_module("proxcal.cli.demo"), "load_demo", lambda: samples.take(range(240)))


def numbers(out, first):
    line = next(line for line in out.splitlines() if line.startswith(first))
    return [float(number) for number in re.findall(r"-?\d+\.\d+", line)]


def test_it_draws_the_picture_where_it_says(demo):
    folder, out, _ = demo
    assert (folder / "proxcal-demo.png").read_bytes().startswith(PNG)
    assert str((folder / "proxcal-demo.png").resolve()) in out


def test_no_line_but_the_paths_passes_80_columns(demo):
    _, out, _ = demo
    assert max(len(line.rstrip()) for line in out.splitlines() if not line.startswith("Picture: ")) <= 80
    assert "…" not in out


def test_the_lowest_fifth_is_overconfident_before_and_not_after(demo):
    _, accuracy_gaps, _ = demo
    _, _, raw_gap, _, scaled_gap, _, our_gap = numbers(accuracy_gaps, "lowest fifth")
    assert raw_gap < -10
    assert scaled_gap < -4
    assert abs(our_gap) < 3


def test_it_says_what_was_chosen_and_why(demo):
    _, out, _ = demo
    assert re.search(r"Correction chosen on the calibration samples: [a-z-]+\n\([a-z-]+ has the least held-out", out)


def test_it_takes_no_longer_than_20_seconds(demo):
    assert demo[2] < 20


@pytest.mark.usefixtures("small")
def test_run_again_it_keeps_the_picture_and_says_so(proxcal, tmp_path):
    picture = tmp_path / "proxcal-demo.png"
    picture.write_text("mine")
    code, out, _ = proxcal("demo")
    assert (code, picture.read_text()) == (0, "mine")
    assert "was kept" in out


@pytest.mark.usefixtures("small")
def test_force_draws_it_anew(proxcal, tmp_path):
    picture = tmp_path / "proxcal-demo.png"
    picture.write_text("mine")
    assert proxcal("demo", "--force")[0] == 0
    assert picture.read_bytes().startswith(PNG)


def test_a_picture_asked_for_by_name_is_not_taken_for_an_earlier_one(proxcal, tmp_path):
    (tmp_path / "mine.png").write_text("mine")
    code, _, err = proxcal("demo", "--output", "mine.png")
    assert (code, (tmp_path / "mine.png").read_text()) == (2, "mine")
    assert "exists" in err


@pytest.mark.usefixtures("small")
def test_json_has_the_table_and_the_fifths(proxcal):
    code, out, _ = proxcal("demo", "--json", "--output", "picture.svg")
    found = json.loads(out)
    assert code == 0
    assert set(found["fifths"]) == {"identity", "temperature", "+ours"}
    assert found["picture"] == "picture.svg"
    assert {row["base"] for row in found["summary"]} == {"identity", "temperature"}
