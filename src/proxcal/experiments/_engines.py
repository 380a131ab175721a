"""Where a sweep's units of work are done: one after the other, in processes of this machine, or on a Ray cluster.

Each gives every unit's rows as soon as they are there, so that what is done is kept whatever becomes of the rest.
(joblib's own Ray backend gives them only when all are there.)
"""

import signal
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any, Literal, TypeVar

import joblib

from proxcal._extras import require
from proxcal._ray import connect
from proxcal._validation import check_choice

Unit = TypeVar("Unit")
Rows = TypeVar("Rows")
Engine = Literal["processes", "ray"]


def in_processes(work: Callable[[Unit], Rows], units: Sequence[Unit], jobs: int | None) -> Iterator[Rows]:
    """Each unit's rows, as they come. Of one job all is done here; else its threads are its share of the processors."""
    if jobs is None or jobs == 1:
        yield from map(work, units)
        return
    n_threads = max(1, joblib.cpu_count() // jobs)
    with joblib.parallel_config("loky", inner_max_num_threads=n_threads), warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"\d+ tasks ", UserWarning)  # joblib's, of those that an interrupt cancels
        parallel = joblib.Parallel(n_jobs=jobs, return_as="generator_unordered")
        yield from parallel(joblib.delayed(partial(_apart, work))(unit) for unit in units)


def _apart(work: Callable[[Unit], Rows], unit: Unit) -> Rows:
    """In a process of its own, which leaves Ctrl-C, sent to all processes of a terminal, to the one that ends it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return work(unit)


def on_ray(work: Callable[[Unit], Rows], units: Sequence[Unit], jobs: int | None) -> Iterator[Rows]:
    """Each unit's rows, as they come; a unit whose worker or machine dies is done anew, three times at the most."""
    ray = connect(_RAY)
    jobs = jobs or max(1, int(ray.cluster_resources().get("CPU", 1)))
    task, shared = ray.remote(num_cpus=1, max_retries=3)(_do), ray.put(work)
    waiting = iter(units)
    running = [task.remote(shared, unit) for unit in islice(waiting, jobs)]
    try:
        while running:
            done, running = ray.wait(running)
            running += [task.remote(shared, unit) for unit in islice(waiting, len(done))]
            yield from ray.get(done)
    finally:
        for unfinished in running:
            ray.cancel(unfinished)


def _do(work: Callable[[Unit], Rows], unit: Unit) -> Rows:
    return work(unit)


Run = Callable[[Callable[[Any], Any], Sequence[Any], int | None], Iterator[Any]]
_ENGINES: dict[Engine, Run] = {"processes": in_processes, "ray": on_ray}
_RAY = 'engine="ray"'


def check_engine(engine: Engine) -> Run:
    """The engine of that name, if what it needs is installed."""
    chosen = _ENGINES[check_choice("engine", engine, tuple(_ENGINES))]
    if chosen is on_ray:
        require("ray", "ray", _RAY)
    return chosen
