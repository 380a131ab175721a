import sys
import time

import numpy as np
import pytest

from proxcal.experiments.bench import measuring
from proxcal.experiments.bench.measuring import machine_rates, measured

MEGABYTE = 1_000_000
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the largest size anew")


@on_linux
def test_memory_is_that_of_arrays_dropped_within_the_call():
    def work():
        np.ones(5 * MEGABYTE)
        return np.ones(MEGABYTE)

    sample, _ = measured(work)
    assert 40 * MEGABYTE <= sample.peak <= 50 * MEGABYTE


@on_linux
def test_memory_of_an_earlier_call_does_not_count():
    measured(lambda: np.ones(10 * MEGABYTE))
    assert measured(lambda: None)[0].peak < MEGABYTE


def test_memory_is_unknown_where_the_system_does_not_tell_it(monkeypatch, tmp_path):
    monkeypatch.setattr(measuring, "_PROCESS", tmp_path / "nothing")
    assert measured(lambda: None)[0].peak is None


def test_waiting_takes_wall_time_and_no_processor_time():
    sample, result = measured(lambda: time.sleep(0.05) or "done")
    assert sample.wall >= 0.05 > 0.04 > sample.processor
    assert result == "done"


def test_rates_are_positive():
    assert min(machine_rates()) > 0
