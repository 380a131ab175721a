import json

import numpy as np
import pytest

from proxcal.bundle import Predictions
from proxcal.experiments.bench import bench, run


@pytest.fixture(autouse=True)
def one_stage(stage, monkeypatch):
    monkeypatch.setattr(run, "STAGES", {stage.name: stage})
    monkeypatch.setattr(run, "PARTS", (stage.name, "quality"))
    monkeypatch.setattr(run, "markdown", lambda result, pictures: f"{list(result.stages)} {pictures}")


@pytest.fixture
def measured_quality(monkeypatch):
    """The predictions whose quality was measured, in order."""
    seen = []
    monkeypatch.setattr(run, "run_quality", lambda predictions, seeds: seen.append((predictions, seeds)) or {})
    return seen


def predictions(seed=0):
    rng = np.random.default_rng(seed)
    return Predictions(logits=rng.normal(size=(20, 3)), labels=rng.integers(3, size=20), features=rng.random((20, 2)))


def test_it_writes_results_a_table_and_pictures(tmp_path, size):
    result = bench(tmp_path / "new", size=size)
    assert json.loads((tmp_path / "new" / "bench.json").read_text()) == result.to_dict()
    assert (tmp_path / "new" / "bench.md").read_text().startswith("['counting'] ['growth-time.png'")
    assert (tmp_path / "new" / "growth-time.png").stat().st_size > 1000


def test_a_second_time_measures_nothing(tmp_path, size, runs):
    first = bench(tmp_path, size=size)
    runs.clear()
    assert bench(tmp_path, size=size) == first
    assert runs == []


def test_interrupted_it_keeps_what_was_done(tmp_path, size, runs):
    def interrupt(done, total, text):
        assert total == 2
        if done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bench(tmp_path, size=size, progress=interrupt)
    runs.clear()
    bench(tmp_path, size=size)
    assert {n for _, n in runs} == {10, 20}  # the growth alone


def test_overwrite_starts_anew(tmp_path, size, runs):
    bench(tmp_path, size=size)
    runs.clear()
    bench(tmp_path, size=size, overwrite=True)
    assert ("peer", 40) in runs


@pytest.mark.parametrize("name", ["bench.md", "growth-time.png", "growth-memory.png"])
def test_a_file_of_others_is_kept_and_nothing_measured(tmp_path, size, runs, name):
    (tmp_path / name).write_text("mine")
    with pytest.raises(ValueError, match=f"{name} exists"):
        bench(tmp_path, size=size)
    assert (tmp_path / name).read_text() == "mine"
    assert runs == []


def test_progress_counts_the_parts(tmp_path, size):
    seen = []
    bench(tmp_path, size=size, progress=lambda *step: seen.append(step))
    assert seen[0] == (0, 2, "counting")
    assert (1, 2, "counting: n 20") in seen


def test_a_file_is_measured_again_only_if_it_changed(tmp_path, size, measured_quality):
    before, other = predictions(), predictions(1)
    bench(tmp_path, {"a": before}, size=size)
    bench(tmp_path, {"a": before, "b": other}, size=size)
    bench(tmp_path, {"a": other, "b": other}, size=size)
    assert measured_quality == [(before, (0, 1)), (other, (0, 1)), (other, (0, 1))]


def test_only_measures_what_it_names(tmp_path, size, runs, measured_quality):
    bench(tmp_path, {"a": predictions()}, size=size, only=["quality"])
    assert len(measured_quality) == 1
    assert runs == []


def test_a_stage_named_twice_is_measured_once(tmp_path, size, runs):
    bench(tmp_path, size=size, only=["counting", "counting"])
    assert runs.count(("peer", 40)) == size.repeats


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"size": "huge"}, "size must be one of 'small', 'paper'; got 'huge'"),
        ({"only": ["speed"]}, "only must be one of 'counting', 'quality'; got 'speed'"),
        ({"only": []}, "only is empty"),
        ({"repeats": 0}, "repeats must be a whole number of at least 1; got 0"),
        ({"only": ["quality"]}, "only has quality, which needs predictions"),
        ({"only": ["counting"], "predictions": {"a": predictions()}}, "predictions are what quality is measured on"),
        ({"predictions": {"a": Predictions(logits=2 * np.eye(3))}}, "a has no labels"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_written(tmp_path, size, arguments, message):
    with pytest.raises(ValueError, match=message):
        bench(tmp_path / "new", **({"size": size} | arguments))
    assert not (tmp_path / "new").exists()
