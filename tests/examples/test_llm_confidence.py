"""The example runs: on a file laid out as it says, and without one."""

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "llm_confidence.py"


@pytest.fixture
def run(monkeypatch, capsys):
    def run(path):
        monkeypatch.setattr(sys, "argv", [str(EXAMPLE), str(path)])
        runpy.run_path(str(EXAMPLE), run_name="__main__")
        return capsys.readouterr().out

    return run


def questions(rng, n, centres, strength):
    topic = rng.integers(len(centres), size=n)
    features = centres[topic] + 0.3 * rng.normal(size=(n, centres.shape[1]))
    return (strength * features[:, :5]).astype(np.float16), topic, features.astype(np.float16)


def test_it_says_in_one_line_that_the_data_is_absent(run, tmp_path):
    said = run(tmp_path / "none.npz")
    assert said.startswith("Skipped: there is no ")
    assert said.count("\n") == 1


def test_it_compares_the_models_confidence_with_ours_within_80_columns(run, tmp_path):
    rng = np.random.default_rng(0)
    logits, labels, features = questions(rng, 900, np.eye(8)[:5], 5)
    ood_logits, _, ood_features = questions(rng, 300, np.eye(8)[5:] + np.eye(8)[0], 5)
    inside = {"logits": logits, "labels": labels, "features": features}
    np.savez(tmp_path / "answers.npz", **inside, ood_logits=ood_logits, ood_features=ood_features)
    lines = run(tmp_path / "answers.npz").splitlines()
    assert lines[0].startswith("1200 questions, 25.0% of them out of scope")
    assert max(map(len, lines)) <= 80
    rows = {line[:22].strip(): [float(number) for number in line[22:].split()] for line in lines[3:6]}
    model, ours = rows["as the model says"], rows["proxcal"]
    assert len(model) == len(lines[2].split()) - 1
    assert ours[3] < model[3]  # NLL
    assert ours[4] > model[4]  # AUROC
