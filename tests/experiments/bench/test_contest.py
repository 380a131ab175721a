import sys

import pytest

from proxcal.experiments.bench import contest as module
from proxcal.experiments.bench.contest import SMALL, run_contest, run_growth
from proxcal.experiments.bench.stage import Contestant


def silently(_):
    pass


def with_peer(stage, run, **more):
    return stage._replace(peers=(Contestant("other's", run, **more),))


def test_contestants_take_turns_there_and_back_after_a_warm_up(stage, size, runs):
    run_contest(stage, size.workload, 2, silently)
    names = ["proxcal", "proxcal, other", "peer"]
    assert runs == [(name, SMALL.n) for name in names] + [(name, 40) for name in names + names[::-1]]


def test_every_turn_is_kept(stage, size):
    found = run_contest(stage, size.workload, 3, silently)
    assert {name: len(samples) for name, samples in found.samples.items()} == {
        "proxcal": 3,
        "proxcal, other": 3,
        "peer": 3,
    }
    assert len(found.rates) == 3


def test_differences_are_the_largest_between_answers(stage, size):
    found = run_contest(stage, size.workload, 1, silently)
    assert found.differences == {
        "proxcal": {"proxcal, other": 0.5, "peer": 2.0},
        "proxcal, other": {"proxcal": 0.5, "peer": 1.5},
    }


def test_a_peer_that_is_not_installed_is_left_out_with_the_way_to_get_it(stage, size):
    stage = with_peer(stage, lambda _: None, module="no_such_module", package="no-such")
    found = run_contest(stage, size.workload, 1, silently)
    assert found.left_out == {"other's": "not installed: pip install no-such"}
    assert list(found.samples) == ["proxcal", "proxcal, other"]


def test_a_peer_that_breaks_is_left_out_with_its_error(stage, size):
    def run(_):
        raise RuntimeError("does not\nlike it")

    found = run_contest(with_peer(stage, run), size.workload, 1, silently)
    assert found.left_out == {"other's": "failed: RuntimeError: does not like it"}


def test_an_error_of_ours_is_raised(stage, size):
    with pytest.raises(TypeError):
        run_contest(stage._replace(inputs=lambda _: "many"), size.workload, 1, silently)


def test_what_a_peer_prints_is_no_result(stage, size, capsys):
    run_contest(with_peer(stage, lambda _: sys.stdout.write("hello")), size.workload, 1, silently)
    assert capsys.readouterr().out == ""


def test_growth_takes_the_full_size_from_the_contest(stage, size, runs):
    found = run_contest(stage, size.workload, 2, silently)
    runs.clear()
    points = run_growth(stage, size.workload, "n", size.growing("n"), 2, found, silently)
    assert {n for _, n in runs} == {10, 20}
    assert [(p.name, p.value) for p in points] == [(name, n) for n in (10, 20, 40) for name in found.ours]
    assert points[-2].samples == found.samples["proxcal"]


def test_growth_runs_what_takes_long_once(stage, size, runs, monkeypatch):
    found = run_contest(stage, size.workload, 1, silently)
    monkeypatch.setattr(module, "LONG", 0.0)
    runs.clear()
    run_growth(stage, size.workload, "n", [10], 5, found, silently)
    assert runs == [("proxcal", 10), ("proxcal, other", 10)]
