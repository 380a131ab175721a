"""The example runs: on files of its layout, too small ones, and without one."""

import runpy
from pathlib import Path

import numpy as np
import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "active_references.py"


@pytest.fixture
def run(monkeypatch, capsys):
    """Its `main` with a tenth of the samples, as it has no argument for that."""

    def run(path):
        monkeypatch.setattr("sys.argv", [str(EXAMPLE), str(path)])
        main = runpy.run_path(str(EXAMPLE))["main"]
        main.__globals__.update(SIZES=(100, 200, 1000), N_TEST=500)
        main()
        return capsys.readouterr().out

    return run


def file_of(n, folder):
    """Samples of which the features tell more than the logits do."""
    rng = np.random.default_rng(0)
    labels = rng.integers(4, size=n)
    centres = rng.normal(size=(4, 6))
    features = centres[labels] + 0.4 * rng.normal(size=(n, 6))
    logits = 1.5 * np.eye(4)[labels] + 1.5 * rng.normal(size=(n, 4))
    np.savez(folder / "few.npz", logits=logits, labels=labels, features=features)
    return folder / "few.npz"


def test_it_says_in_one_line_that_the_data_is_absent(run, tmp_path):
    said = run(tmp_path / "none.npz")
    assert said.startswith("Skipped: there is no ")
    assert said.count("\n") == 1


def test_too_few_samples_are_told_in_one_line(run, tmp_path):
    with pytest.raises(SystemExit, match=r"few\.npz has 600 samples; more than 600 are needed"):
        run(file_of(600, tmp_path))


def test_added_references_lower_the_loss_and_a_fit_anew_starts_where_they_do(run, tmp_path):
    lines = run(file_of(1300, tmp_path)).splitlines()
    assert max(map(len, lines)) <= 80
    losses = {line[:26].strip(): [float(number) for number in line[26:].split()] for line in lines[4:7]}
    added, anew, plain = losses.values()
    assert added[0] == anew[0]
    assert added[-1] < added[0] < plain[0]
