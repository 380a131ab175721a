"""Wall time, processor time and memory of one call, and what the machine gives at that moment.

Processor time is that of all threads. Memory is the largest resident size during the call over what it was before, the
result included: so it sees what NumPy, compiled code and other libraries take alike. Before each call freed memory goes
back to the system, or else the call would be served from it unseen; and a matrix library's threads, which wait for more
work at full speed for some 30 ms, fall asleep, or else the call would be charged for them. Only Linux tells the largest
size anew.
"""

import ctypes
import gc
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

_PROCESS = Path("/proc/self")
_FORGET_PEAK = "5"
ASLEEP = 0.04  # seconds after which no thread still waits for work
_YOUNG = 1  # generations, of what earlier turns left in cycles
_SIDE, _COPIED = 1536, 1 << 23


class Sample(NamedTuple):
    """Seconds, and bytes where they can be known."""

    wall: float
    processor: float
    peak: int | None


class Rates(NamedTuple):
    """What the machine gives: float32 matrix products of NumPy on all its threads, and copying memory on one."""

    sgemm_gflops: float
    copy_gbytes: float


def measured(work: Callable[[], Any]) -> tuple[Sample, Any]:
    """What one call took, and its result."""
    before = _resident_now()
    time.sleep(ASLEEP)
    processor, wall = time.process_time(), time.perf_counter()
    result = work()
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    peak = None if before is None else max(0, _status("VmHWM") - before)
    return Sample(wall, processor, peak), result


def machine_rates() -> Rates:
    """The best of three each."""
    a = np.ones((_SIDE, _SIDE), dtype=np.float32)
    source, target = np.ones(_COPIED), np.empty(_COPIED)
    product = min(_seconds(lambda: a @ a) for _ in range(3))
    copy = min(_seconds(lambda: np.copyto(target, source)) for _ in range(3))
    return Rates(2 * _SIDE**3 / product / 1e9, 2 * source.nbytes / copy / 1e9)


def _seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _resident_now() -> int | None:
    """Bytes, from which the largest size now counts; None where that cannot be had."""
    gc.collect(_YOUNG)  # all would take longer than many a stage
    try:
        ctypes.CDLL(None).malloc_trim(0)
        (_PROCESS / "clear_refs").write_text(_FORGET_PEAK)
        return _status("VmRSS")
    except (OSError, AttributeError, TypeError):  # no /proc, or a C library without malloc_trim
        return None


def _status(key: str) -> int:
    lines = (_PROCESS / "status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(key))
