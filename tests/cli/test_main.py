"""What holds for every command: one line for an error, exit code 2, nothing overwritten, 80 columns."""

import subprocess
import sys
import warnings

import numpy as np
import pytest

import proxcal as px
from proxcal.cli import app, main
from proxcal.cli._terminal import show_warning

COMMANDS = ("demo", "extract", "fit", "apply", "compress", "evaluate", "audit", "sweep", "monitor")
WITHOUT_OUTPUT = ("monitor",)


@pytest.fixture
def model(files, proxcal, tmp_path):
    assert proxcal("fit", files["first"], "-o", "model.proxcal", "--informed", "logistic")[0] == 0
    return tmp_path / "model.proxcal"


def test_version(proxcal):
    assert proxcal("--version") == (0, f"proxcal {px.__version__}\n", "")


def test_without_a_command_it_shows_help(proxcal):
    code, out, err = proxcal()
    assert (code, err) == (0, "")
    assert all(command in out for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_that_names_its_options(proxcal, command):
    code, out, _ = proxcal(command, "--help")
    assert code == 0
    assert ("--force" in out) == (command not in WITHOUT_OUTPUT)
    assert "--json" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonsense"], "No such command 'nonsense'"),
        (["--nonsense"], "No such option"),
        (["fit"], "Missing argument"),
        (["fit", "{first}"], "Missing option '--output'"),
        (["fit", "{first}", "-o", "m", "--neighbors", "many"], "Invalid value for '--neighbors'"),
        (["fit", "none.npz", "-o", "m"], "none.npz: there is no such file"),
        (["fit", "notes.txt", "-o", "m"], "notes.txt has the suffix '.txt'"),
        (["fit", "broken.npz", "-o", "m"], "broken.npz is not a whole npz file"),
        (["fit", "{unlabelled}", "-o", "m"], "unlabelled.npz has no labels"),
        (["fit", "{bare}", "-o", "m"], "features is missing"),
        (["fit", "{first}", "-o", "m", "--prefix", "noise_"], "it needs exactly one of noise_logits and noise_probs"),
        (["fit", "{first}", "-o", "m", "--base", "platt"], "base must be one of 'identity'"),
        (["fit", "{first}", "-o", "m", "--informed", "magic"], "informed must be one of 'auto'"),
        (["fit", "{first}", "-o", "m", "--rows", "sort"], "rows must be one of 'keep'"),
        (["fit", "{first}", "-o", "m", "--metric", "l3"], "metric must be one of 'euclidean'"),
        (["fit", "{first}", "-o", "m", "--neighbors", "300"], "n_neighbors is 300; the reference set has 300 samples"),
        (["fit", "{first}", "-o", "no/folder/m"], "there is no folder no/folder"),
        (["fit", "{first}", "-o", "."], "is a folder"),
        (["apply", "none.proxcal", "{second}", "-o", "o.csv"], "none.proxcal: there is no such file"),
        (["apply", "{first}", "{second}", "-o", "o.csv"], "is not a calibrator saved by proxcal"),
        (["apply", "{model}", "{second}", "-o", "o.txt"], "--output has the suffix '.txt'"),
        (["apply", "{model}", "{probs}", "-o", "o.csv"], "probs.npz has probs; "),
        (["apply", "{model}", "{bare}", "-o", "o.csv"], "features is missing"),
        (["evaluate"], "evaluate needs predictions"),
        (["evaluate", "{first}", "{first}"], "FILES has a file twice"),
        (["evaluate", "{first}", "--calibration", "{first}"], "--calibration and --test go together"),
        (["evaluate", "{first}", "--calibration", "{first}", "--test", "{second}"], "give either"),
        (["evaluate", "{first}", "--seeds", "twenty"], "--seeds must be whole numbers"),
        (["evaluate", "{first}", "--seeds"], "'--seeds' requires an argument"),
        (["evaluate", "{first}", "--seeds", "1", "1"], "seeds must be whole numbers, one or more, each once"),
        (["evaluate", "{unlabelled}"], "unlabelled.npz has no labels"),
        (["evaluate", "{bare}"], "bare.npz has no features"),
        (["evaluate", "{first}", "--fraction", "2"], "fraction must be a number in (0, 1]; got 2.0"),
        (["evaluate", "--calibration", "{first}", "--test", "{probs}"], "test has probs; calibration has logits"),
        (["audit"], "Missing argument"),
        (["audit", "{bare}"], "bare.npz has no features"),
        (["audit", "{unlabelled}"], "unlabelled.npz has no labels"),
        (["audit", "{first}", "--calibration", "{probs}"], "test has logits; calibration has probs"),
        (["audit", "{first}", "-o", "audit.pdf"], "needs .html"),
        (["sweep", "{first}"], "Missing option '--output'"),
        (["sweep", "{first}", "-o", "r.txt"], "output has the suffix '.txt'"),
        (["sweep", "{bare}", "-o", "r.csv", "--jobs", "0"], "jobs must be a whole number of at least 1"),
        (["sweep", "{first}", "-o", "r.csv", "--metadata", "none.csv"], "none.csv: No such file"),
        (["monitor", "{model}"], "Missing argument"),
        (["monitor", "{model}", "none.npz"], "none.npz: there is no such file"),
        (["monitor", "{model}", "{probs}"], "probs.npz has probs; "),
        (["monitor", "{model}", "{bare}"], "bare.npz has no features; "),
        (["monitor", "{model}", "{second}", "--batch-size", "0"], "--batch-size must be a whole number of at least 1"),
        (["monitor", "{model}", "{second}", "--window", "0"], "window must be a whole number of at least 1"),
        (["monitor", "{model}", "{second}", "--normal", "{bare}"], "bare.npz has no features; "),
        (["monitor", "{model}", "{second}", "--state", "no/folder/s"], "there is no folder no/folder"),
        (["monitor", "{model}", "{second}", "--state", "{second}"], "is not a calibrator saved by proxcal"),
        (["demo", "--output", "picture.bmp"], "--output has the suffix '.bmp'"),
        (["demo", "--output", "no/folder/p.png"], "there is no folder no/folder"),
    ],
)
def test_an_error_is_one_line_on_stderr_and_exit_code_2(proxcal, files, request, tmp_path, arguments, message):
    (tmp_path / "broken.npz").write_bytes(files["first"].read_bytes()[:5000])
    paths = dict(files)
    if "{model}" in arguments:
        paths["model"] = request.getfixturevalue("model")
    code, out, err = proxcal(*(argument.format(**paths) for argument in arguments))
    assert (code, out) == (2, "")
    assert err.startswith("proxcal: ")
    assert err.count("\n") == 1
    assert message in err


@pytest.mark.parametrize(
    "arguments",
    [
        ["fit", "{first}", "-o", "out.csv"],
        ["apply", "{model}", "{second}", "-o", "out.csv"],
        ["evaluate", "{first}", "--csv", "out.csv"],
    ],
)
def test_an_output_that_exists_is_kept_and_known_before_any_work(proxcal, files, model, arguments, monkeypatch):
    def work(*_, **__):
        raise AssertionError("work was begun")

    output = model.parent / "out.csv"
    output.write_text("mine")
    for name in ("load", "save"):
        monkeypatch.setattr(px.Predictions, name, work)
        monkeypatch.setattr(px.ProCal, name, work)
    code, _, err = proxcal(*(argument.format(model=model, **files) for argument in arguments))
    assert (code, output.read_text()) == (2, "mine")
    assert "out.csv exists" in err
    assert "--force" in err


@pytest.mark.parametrize(
    "arguments",
    [
        ["fit", "{first}", "-o", "out.csv", "--informed", "none"],
        ["apply", "{model}", "{second}", "-o", "out.csv"],
        ["evaluate", "{first}", "--csv", "out.csv", "--seeds", "1", "--informed", "logistic"],
    ],
)
def test_force_replaces_it(proxcal, files, model, arguments):
    output = model.parent / "out.csv"
    output.write_text("mine")
    assert proxcal(*(argument.format(model=model, **files) for argument in arguments), "--force")[0] == 0
    assert output.read_bytes() != b"mine"


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (MemoryError("Unable to allocate 3 GiB"), "proxcal: not enough memory: Unable to allocate 3 GiB"),
        (PermissionError(13, "Permission denied", "a.npz"), "proxcal: a.npz: Permission denied"),
        (ValueError("two\nlines"), "proxcal: two lines"),
        (KeyError("x"), "proxcal: KeyError: 'x' (this should not happen: please report it)"),
    ],
)
def test_whatever_goes_wrong_there_is_no_traceback(proxcal, files, monkeypatch, error, line):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(px.Predictions, "load", fail)
    assert proxcal("fit", files["first"], "-o", "m") == (2, "", f"{line}\n")


def test_an_interrupt_leaves_with_130(proxcal, files, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(px.Predictions, "load", interrupt)
    code, out, _ = proxcal("fit", files["first"], "-o", "m")
    assert (code, out) == (130, "")


def test_a_warning_of_ours_is_one_line_said_once(capsys):
    show = show_warning()
    for _ in range(2):
        show(px.ProxcalWarning("too few\nsamples"), px.ProxcalWarning, "file.py", 1)
    assert capsys.readouterr().err == "proxcal: warning: too few samples\n"


def test_fitting_shows_the_warnings_on_stderr(proxcal, samples):
    samples.take(np.arange(60)).save("few.npz")
    code, out, err = proxcal("fit", "few.npz", "-o", "m", "--json")
    assert code == 0
    assert err.startswith("proxcal: warning: 60 calibration samples are too few")
    assert err.count("\n") == 1
    assert "warning" not in out


def test_running_leaves_the_callers_warnings_as_they_were(proxcal):
    before = warnings.showwarning
    proxcal("--version")
    assert warnings.showwarning is before


def test_as_a_process_an_error_has_exit_code_2_and_no_traceback(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", "from proxcal.cli import main; main()", "fit", "none.npz", "-o", "m"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "proxcal: none.npz: there is no such file\n"


def test_the_entry_point_is_main():
    from importlib.metadata import entry_points

    (point,) = entry_points(group="console_scripts", name="proxcal")
    assert point.load() is main


def test_the_app_knows_these_commands():
    assert {command.callback.__name__ for command in app.registered_commands} == set(COMMANDS)
