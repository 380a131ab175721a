import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from PIL import Image  # noqa: E402

import proxcal as px  # noqa: E402

OWN = """
import os
import time

import numpy as np
import torch
from torch import nn


def prepare(image):
    return torch.from_numpy(np.array(image)).flatten() / 255


class Slow(nn.Sequential):
    def forward(self, x):
        time.sleep(float(os.environ.get("PAUSE", 0)))
        return super().forward(x)


def small():
    torch.manual_seed(0)
    return Slow(nn.Linear(192, 6), nn.Tanh(), nn.Linear(6, 2)), prepare


def wide():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(192, 60), nn.Linear(60, 2)), prepare
"""
QUICK = ("--data", "photos", "--workers", 0, "--batch-size", 4)


@pytest.fixture(autouse=True)
def photos(tmp_path, monkeypatch):
    """A folder of two classes, and models of one's own beside it."""
    rng = np.random.default_rng(0)
    for i in range(20):
        path = tmp_path / "photos" / "ab"[i % 2] / f"{i}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 255, (8, 8, 3), dtype=np.uint8)).save(path)
    (tmp_path / "own.py").write_text(OWN)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "own", raising=False)
    return tmp_path / "photos"


def test_it_writes_predictions_and_says_what_is_in_them(proxcal):
    code, out, err = proxcal("extract", "own:small", *QUICK, "-o", "out.npz")
    assert (code, err) == (0, "")
    held = px.Predictions.load("out.npz")
    accuracy = np.mean(held.logits.argmax(axis=1) == held.labels)
    for line in ("samples   20", "classes   2", "features  6", f"accuracy  {accuracy:.2%}"):
        assert line in out
    assert out.splitlines()[-1] == f"Predictions: {Path('out.npz').resolve()}"


def test_what_it_wrote_can_be_audited_and_calibrated(proxcal):
    proxcal("extract", "own:small", *QUICK, "-o", "out.npz")
    assert proxcal("fit", "out.npz", "-o", "model.proxcal")[0] == 0


def test_json_is_a_record_a_model(proxcal):
    _, out, _ = proxcal("extract", "own:small", *QUICK, "-o", "out.npz", "--json")
    (found,) = json.loads(out)
    assert (found["model"], found["output"], found["samples"], found["error"]) == ("own:small", "out.npz", 20, None)


def test_several_models_make_a_file_each_and_a_table_of_80_columns(proxcal):
    code, out, err = proxcal("extract", "own:small", "own:wide", *QUICK, "-o", "zoo")
    assert (code, err) == (0, "")
    assert sorted(path.name for path in Path("zoo").iterdir()) == ["own.small.npz", "own.wide.npz"]
    table, _, _ = out.partition("Predictions: ")
    assert max(map(len, table.splitlines())) <= 80
    _, again, _ = proxcal("extract", "own:small", "own:wide", *QUICK, "-o", "zoo")
    assert again.count(" done\n") == 2


def test_a_model_that_fails_is_named_and_the_others_are_run(proxcal):
    code, out, err = proxcal("extract", "own:absent", "own:small", *QUICK, "-o", "zoo")
    assert code == 0
    assert err == "proxcal: warning: left out: own:absent: own:absent: own has no function 'absent'\n"
    assert "Left out, see above: own:absent" in out


def test_a_damaged_image_is_a_line_on_stderr_and_counted(proxcal, photos):
    (photos / "a" / "0.png").write_text("not an image")
    code, out, err = proxcal("extract", "own:small", *QUICK, "-o", "out.npz")
    assert code == 0
    assert err.startswith("proxcal: warning: skipped: a/0.png cannot be read: cannot identify image file")
    assert err.count("\n") == 1
    assert "skipped   1, which could not be read" in out


def test_strict_ends_at_a_damaged_image(proxcal, photos):
    (photos / "a" / "0.png").write_text("not an image")
    code, out, err = proxcal("extract", "own:small", *QUICK, "-o", "out.npz", "--strict")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("proxcal: a/0.png cannot be read: ")


def test_a_projection_is_learned_once_and_used_for_the_next_file(proxcal):
    proxcal("extract", "own:small", *QUICK, "-o", "val.npz", "--pca", "2")
    proxcal("extract", "own:small", *QUICK, "-o", "test.npz", "--pca", "val.npz")
    val, test = (px.Predictions.load(name).features for name in ("val.npz", "test.npz"))
    assert val.shape == (20, 2)
    np.testing.assert_array_equal(val, test)


def test_class_names_are_read_from_a_file(proxcal):
    Path("classes.txt").write_text("b\na\n")
    proxcal("extract", "own:small", *QUICK, "-o", "out.npz", "--classes", "classes.txt")
    held = px.Predictions.load("out.npz")
    assert {str(name)[0]: label for name, label in zip(held.ids, held.labels, strict=True)} == {"a": 1, "b": 0}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("own:small", "-d", "absent", "-o", "out.npz"), "absent: there is no such file"),
        (
            ("own:small", "-d", "imagenet:photos", "-o", "out.npz"),
            "photos has no folder val: ImageNet needs val/",
        ),
        (("own:small", "-d", "photos", "-o", "out.csv"), "out.csv is a file; for several models a folder is needed"),
        (("small", "-d", "photos", "-o", "out.npz"), "the model is 'small'; it needs a source before its name"),
        (
            ("own:small", "-d", "photos", "-o", "out.npz", "--layer", "7"),
            "head is '7', which the model has no module of",
        ),
    ],
)
def test_a_mistake_is_one_line(proxcal, arguments, message):
    Path("out.csv").write_text("")
    code, out, err = proxcal("extract", *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"proxcal: {message}")


def command(output):
    arguments = ["extract", "own:small", "--data", "photos", "--workers", "1", "--batch-size", "1", "-o", output]
    return [
        sys.executable, "-c",
        "import sys; from proxcal.integrations.extraction import run; run.SHARD_SECONDS = 0;"
        f"from proxcal.cli import main; main({arguments!r})",
    ]  # fmt: skip


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_stopped_at_any_moment_it_goes_on_and_gives_the_same(proxcal, tmp_path, monkeypatch, how):
    whole = ("extract", "own:small", "--data", "photos", "--batch-size", 1, "--workers", 0)
    proxcal(*whole, "-o", "whole.npz")
    monkeypatch.setenv("PAUSE", "0.1")
    running = subprocess.Popen(
        command("out.npz"),
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # whoever runs the tests may ignore it
    )
    while len(list(tmp_path.glob("out.npz.part/[0-9]*.npz"))) < 3:
        assert running.poll() is None
        time.sleep(0.02)
    running.send_signal(how)
    _, err = running.communicate(timeout=60)
    if how == signal.SIGINT:
        assert "out.npz keeps what is done; the same command, without --force, goes on" in err
        assert "Traceback" not in err
    assert not Path("out.npz").exists()
    monkeypatch.setenv("PAUSE", "0")
    assert proxcal(*whole, "-o", "out.npz")[0] == 0
    assert Path("out.npz").read_bytes() == Path("whole.npz").read_bytes()
