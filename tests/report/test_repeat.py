import shlex
from pathlib import Path

import numpy as np
import pytest

import proxcal as px
from proxcal.report.repeat import command


def test_files_and_plain_settings_are_a_command_line():
    given = {"seed": 3, "base": "temperature", "informed": None, "normalize": False, "paper": True, "n_neighbors": 5}
    assert shlex.split(command(Path("my val.npz"), given)) == [
        "proxcal", "audit", "my val.npz", "--seed", "3", "--base", "temperature", "--informed", "none",
        "--no-normalize", "--paper", "--neighbors", "5",
    ]  # fmt: skip


def test_what_is_only_in_memory_goes_by_its_name(samples):
    given = {"ids": np.arange(3), "calibration": Path("cal.npz"), "base": px.TemperatureScaling()}
    assert command(samples, given) == "px.audit(predictions, ids=ids, calibration='cal.npz', base=TemperatureScaling())"


def test_a_setting_without_an_option_is_a_call():
    assert command("val.npz", {"n_resamples": 50}) == "px.audit('val.npz', n_resamples=50)"


@pytest.mark.filterwarnings("ignore::proxcal.ProxcalWarning")
def test_the_call_gives_the_audit_again(samples, tmp_path):
    path = tmp_path / "val.npz"
    samples.save(path)
    found = px.audit(path, base="identity", informed=None, n_resamples=20, seed=5)
    assert eval(found.command, {"px": px}).to_dict() == found.to_dict()
