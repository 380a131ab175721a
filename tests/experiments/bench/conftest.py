import numpy as np
import pytest

from proxcal.experiments.bench import contest, measuring
from proxcal.experiments.bench.contest import Contest
from proxcal.experiments.bench.measuring import Rates, Sample
from proxcal.experiments.bench.result import BenchResult
from proxcal.experiments.bench.stage import Contestant, Stage
from proxcal.experiments.bench.stages import Size
from proxcal.experiments.bench.workload import Workload


@pytest.fixture(autouse=True)
def without_waiting(monkeypatch):
    """The machine's rates known at once, where they are only passed on."""
    monkeypatch.setattr(contest, "machine_rates", lambda: Rates(100.0, 10.0))
    monkeypatch.setattr(measuring, "ASLEEP", 0.0)


@pytest.fixture
def size():
    """From 10 to 40 samples, two turns."""
    return Size("tiny", Workload(40, 8, 4), n_halvings=2, repeats=2, seeds=(0, 1))


@pytest.fixture
def runs():
    """Who ran on how many samples, in order."""
    return []


@pytest.fixture
def stage(runs):
    """Two of ours and a peer, who count to n."""

    def contestant(name, off=0.0, **more):
        def run(n):
            runs.append((name, n))
            return np.arange(n) + off

        return Contestant(name, run, lambda _, result: result, **more)

    return Stage(
        "counting",
        "counts",
        lambda workload: workload.n,
        (contestant("proxcal"), contestant("proxcal, other", 0.5)),
        (contestant("peer", 2.0),),
        ("n",),
    )


@pytest.fixture
def result():
    """Ours took 1 s and 10 MB, the peer 4 s and 5 MB; another is not installed."""

    def taken(wall, peak):
        return [Sample(wall, 2 * wall, peak), Sample(1.1 * wall, 2 * wall, peak), Sample(0.9 * wall, 2 * wall, peak)]

    found = Contest(
        {"proxcal": taken(1.0, 10_000_000), "statsmodels": taken(4.0, 5_000_000)},
        ["proxcal"],
        {"proxcal": {"statsmodels": 1e-9}},
        [[100.0, 10.0], [90.0, 11.0], [110.0, 12.0]],
        {"faiss": "not installed: pip install faiss-cpu"},
    )
    machine = {
        "processor": "a chip",
        "cores": 2,
        "system": "Linux x86_64",
        "python": "3.11",
        "versions": {"numpy": "2.4"},
        "blas": {"numpy": "openblas"},
        "environment": {},
    }
    settings = {"size": "tiny", "n": 40, "n_columns": 8, "n_classes": 4, "repeats": 3}
    return BenchResult(settings, machine, {"density-ratio": found})
