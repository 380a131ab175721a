import json
from dataclasses import replace

import pytest

from proxcal.experiments.reproduce import PROTOCOLS

pytestmark = pytest.mark.filterwarnings("ignore::proxcal.ProxcalWarning")  # small samples


@pytest.fixture(autouse=True)
def two_methods(monkeypatch):
    for name in ("imagenet", "imagenet-c", "hyper-k"):
        monkeypatch.setitem(PROTOCOLS, name, replace(PROTOCOLS[name], given_methods=("Conf", "TS")))
    monkeypatch.setattr("proxcal.experiments.reproduce.timing.N_RUNS", 2)


def test_the_list_says_what_each_needs(proxcal):
    code, out, err = proxcal("reproduce", "--list")
    assert (code, err) == (0, "")
    for name, protocol in PROTOCOLS.items():
        assert f"\n{name}" in f"\n{out}"
        assert all(need.command in out for need in protocol.needs)


def test_the_list_of_one_table_in_json(proxcal):
    _, out, _ = proxcal("reproduce", "5", "--list", "--json")
    (listed,) = json.loads(out)
    assert (listed["name"], listed["split"], listed["needs"][0]["n_samples"]) == ("imagenet-lt", [5000, 5000], 10000)
    assert listed["methods"] == ["Conf", "TS", "ETS", "PTS", "PTSK", "HB", "IR", "MIR"]


def test_a_table_has_the_papers_figures_beside_in_80_columns(proxcal, files):
    code, out, err = proxcal("reproduce", "3", f"ResNet50={files['first']}", "--scaled", "-o", "out")
    assert (code, err) == (0, "")
    assert max(map(len, out[: out.index("Written")].splitlines())) <= 80
    row = next(line.split() for line in out.splitlines() if line.startswith("Conf"))
    assert row[2::2] == ["8.72", "8.69", "4.61", "8.91"]
    row = next(line.split() for line in out.splitlines() if line.startswith("  +ours"))
    assert row[2::2] == ["2.78*", "2.63*", "1.30*", "3.42*"]


def test_a_scaled_table_says_that_it_is_not_the_papers_protocol(proxcal, files):
    _, out, _ = proxcal("reproduce", "hyper-k", files["first"], "--scaled", "-o", "out")
    assert out.splitlines()[1].startswith("NOT the paper's protocol: first has 300 samples, not 50000.")


def test_too_few_samples_are_one_line_and_nothing_is_left(proxcal, files, tmp_path):
    code, out, err = proxcal("reproduce", "hyper-k", files["first"], "-o", "out")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "has 300 samples; hyper-k needs 50000" in err
    assert not (tmp_path / "out").exists()


def test_json_is_the_reproduction(proxcal, files, tmp_path):
    code, out, _ = proxcal("reproduce", "hyper-k", files["first"], "--scaled", "-o", "out", "--json")
    found = json.loads(out)
    assert code == 0
    assert {row["variant"] for row in found["rows"]} == {"1", "2", "5", "10", "20", "50", "100"}
    assert (tmp_path / "out" / "hyper-k.png").is_file()


def test_nothing_is_replaced_unless_forced(proxcal, files):
    command = ("reproduce", "inference-time", files["first"], "--scaled", "-o", "out", "--network-time", "5")
    assert proxcal(*command)[0] == 0
    code, _, err = proxcal(*command)
    assert code == 2
    assert "inference-time.csv exists" in err
    assert proxcal(*command, "--force")[0] == 0


@pytest.mark.parametrize("table", ["overfit", "imagenet-c", "inference-time"])
def test_the_other_kinds_fit_80_columns(proxcal, files, table):
    given = [files["first"]] if table == "inference-time" else [files["first"], files["second"]]
    code, out, _ = proxcal("reproduce", table, *given, "--scaled", "-o", "out")
    assert code == 0
    assert max(map(len, out[: out.index("Written")].splitlines())) <= 80


def test_without_an_output_it_says_what_is_needed(proxcal, files):
    code, _, err = proxcal("reproduce", "hyper-k", files["first"])
    assert code == 2
    assert "reproduce needs --output" in err
