import json

import pytest

METRICS = ("--only", "metrics", "--repeats", 1)


def test_it_prints_a_table_and_where_all_is(proxcal):
    code, out, _ = proxcal("bench", "-o", "here", *METRICS)
    assert code == 0
    assert "times faster" in out
    assert [line.rpartition("/")[2] for line in out.splitlines() if line.startswith("/")][:2] == [
        "bench.md",
        "growth-time.png",
    ]
    assert max(len(line) for line in out.splitlines() if not line.startswith("/")) <= 80


def test_json_is_what_is_kept(proxcal, tmp_path):
    _, out, _ = proxcal("bench", "-o", "here", *METRICS, "--json")
    assert json.loads(out) == json.loads((tmp_path / "here" / "bench.json").read_text())


def test_quality_is_measured_on_the_files_of_a_folder(proxcal, files, tmp_path, monkeypatch):
    seen = {}
    monkeypatch.setattr(
        "proxcal.experiments.bench.run.run_quality", lambda given, _: seen.update({len(given): 1}) or {}
    )
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.npz").write_bytes(files["first"].read_bytes())
    _, out, _ = proxcal("bench", "-o", "here", "--only", "quality", "--data", "data", "--json")
    assert list(json.loads(out)["quality"]) == ["a.npz"]
    assert seen == {300: 1}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--size", "huge"), "size must be one of 'small', 'paper'; got 'huge'"),
        (("--data", "nowhere"), "nowhere has no predictions files (.npz or .safetensors); give the folder that has"),
        (("--only", "metrics", "--data", "nowhere"), "--data is what quality is measured on"),
    ],
)
def test_what_cannot_be_is_one_line(proxcal, tmp_path, arguments, message):
    code, _, err = proxcal("bench", "-o", "here", *arguments)
    assert code == 2
    assert message in err
    assert err.count("\n") == 1
    assert not (tmp_path / "here").exists()
