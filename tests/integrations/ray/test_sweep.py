import os
import signal
import sys

import numpy as np
import pytest

import proxcal as px

pytest.importorskip("ray")

QUICK = {"informed": "bin-mean-shift", "seeds": (1, 2)}
MODULE = sys.modules["proxcal.experiments.sweep"]


@pytest.fixture(scope="module")
def zoo(samples, tmp_path_factory):
    folder = tmp_path_factory.mktemp("zoo")
    for i, name in enumerate("abc"):
        samples.take(np.arange(300 * i, 300 * (i + 1))).save(folder / f"{name}.npz")
    return sorted(folder.glob("*.npz"))


@pytest.fixture(scope="module")
def local(zoo, tmp_path_factory):
    """The results file of a sweep of this process alone."""
    output = tmp_path_factory.mktemp("local") / "results.csv"
    px.sweep(zoo, output=output, **QUICK)
    return output.read_bytes()


def deadly_once(mark):
    """`_run` that ends its process when it is first asked for the second file, in whatever process."""
    run = MODULE._run

    def deadly(plan, unit):
        if unit.file.path.stem == "b" and not os.path.exists(mark):
            os.close(os.open(mark, os.O_CREAT))
            os.kill(os.getpid(), signal.SIGKILL)
        return run(plan, unit)

    return deadly


@pytest.mark.parametrize("jobs", [None, 1])
def test_the_results_are_those_of_this_process_to_the_bit(cluster, zoo, local, tmp_path, jobs):
    px.sweep(zoo, output=tmp_path / "r.csv", engine="ray", jobs=jobs, **QUICK)
    assert (tmp_path / "r.csv").read_bytes() == local


def test_a_worker_that_dies_is_replaced_and_changes_nothing(cluster, zoo, local, tmp_path, monkeypatch):
    monkeypatch.setattr(MODULE, "_run", deadly_once(str(tmp_path / "killed")))
    px.sweep(zoo, output=tmp_path / "r.csv", engine="ray", **QUICK)
    assert (tmp_path / "killed").exists()
    assert (tmp_path / "r.csv").read_bytes() == local


def test_what_was_begun_by_one_engine_is_gone_on_with_by_the_other(cluster, zoo, local, tmp_path):
    output = tmp_path / "r.csv"
    output.write_bytes(local[: len(local) // 2])
    calls = []
    px.sweep(zoo, output=output, engine="ray", progress=lambda *call: calls.append(call), **QUICK)
    assert output.read_bytes() == local
    assert calls[0][0] == 2


def test_a_sweep_that_is_interrupted_keeps_the_rows_so_far(cluster, zoo, local, tmp_path):
    def stop(done, *_):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        px.sweep(zoo, output=tmp_path / "r.csv", engine="ray", jobs=2, progress=stop, **QUICK)
    kept = (tmp_path / "r.csv").read_text().splitlines()[1:]
    assert len(kept) == 2 * 3
    assert set(kept) <= set(local.decode().splitlines())
    px.sweep(zoo, output=tmp_path / "r.csv", engine="ray", **QUICK)
    assert (tmp_path / "r.csv").read_bytes() == local


def test_the_command_takes_the_engine(cluster, zoo, local, tmp_path, capsys):
    from proxcal.cli import run

    asked = ["--engine", "ray", "--informed", "bin-mean-shift", "--seeds", "1", "2", "--json"]
    assert run(["sweep", *map(str, zoo), "-o", str(tmp_path / "r.csv"), *asked]) == 0
    assert (tmp_path / "r.csv").read_bytes() == local
    assert capsys.readouterr().err == ""
