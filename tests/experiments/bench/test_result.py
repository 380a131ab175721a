import json

import pytest

from proxcal.experiments.bench.contest import Point
from proxcal.experiments.bench.measuring import Sample
from proxcal.experiments.bench.result import BenchResult, begun


@pytest.fixture
def whole(result):
    points = [Point("proxcal", "n", n, [Sample(n / 10, n / 5, None)]) for n in (10, 20)]
    result.growth["density-ratio"] = {"n": points}
    result.quality["demo"] = {"fingerprint": "f", "seeds": [0], "calibrators": {"temperature": {"ece": 0.1}}}
    return result


def test_json_gives_back_every_sample(whole):
    assert BenchResult.from_dict(json.loads(whole.to_json())) == whole


def test_what_was_begun_goes_on(whole, tmp_path):
    whole.save(tmp_path / "bench.json")
    assert begun(tmp_path / "bench.json", whole.settings, whole.machine) == whole


def test_other_settings_are_refused(result, tmp_path):
    result.save(tmp_path / "bench.json")
    with pytest.raises(ValueError, match="settings in which repeats is 3; now it is 5"):
        begun(tmp_path / "bench.json", result.settings | {"repeats": 5}, result.machine)


def test_another_machine_is_refused(result, tmp_path):
    result.save(tmp_path / "bench.json")
    with pytest.raises(ValueError, match="machine in which cores is 2; now it is 64"):
        begun(tmp_path / "bench.json", result.settings, result.machine | {"cores": 64})


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"schema": 99}', '{"schema": 1}'])
def test_another_file_is_refused(content, tmp_path):
    (tmp_path / "bench.json").write_text(content)
    with pytest.raises(ValueError, match=r"bench\.json does not hold results of a benchmark .*--force"):
        begun(tmp_path / "bench.json", {}, {})


def test_growth_points_are_medians(whole):
    points = whole.growth_points()
    assert [(p["stage"], p["axis"], p["value"], p["seconds"]) for p in points] == [
        ("density-ratio", "n", 10, 1.0),
        ("density-ratio", "n", 20, 2.0),
    ]


def test_stages_are_in_the_order_they_are_run_in(whole):
    whole.stages["metrics"] = whole.stages["density-ratio"]
    whole.sort(["proximity", "metrics", "density-ratio"])
    assert list(whole.stages) == ["metrics", "density-ratio"]
