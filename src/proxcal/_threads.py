"""Blocks of work side by side, one thread each.

NumPy lets go of the interpreter lock and each block writes its own rows, so the result does not depend on the order.
Products on one thread within each block waste less than one product spread over all threads, as what is done between
products is then spread too. As many blocks run at a time as BLAS may use threads, so what limits those
(OMP_NUM_THREADS, threadpoolctl, a worker of joblib) limits these; where BLAS cannot be asked, blocks take turns.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, partial
from itertools import pairwise
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

_LEAST_ROWS = 64  # of a block: with fewer, a product costs more a row
_lock = Lock()


def in_threads(work: Callable[[slice], None], blocks: Iterable[slice]) -> None:
    every = list(blocks)
    with _threads_of_blas(at_most=len(every)) as n_threads:
        if n_threads < 2:
            for block in every:
                work(block)
            return
        with ThreadPoolExecutor(n_threads, initializer=partial(_blas().limit, limits=1)) as pool:
            for _ in pool.map(work, every):
                pass


def even_blocks(n_rows: int, size: int) -> list[slice]:
    """Slices of at most `size` rows, as many as keep all threads busy, but none much smaller than pays."""
    n_blocks = -(-n_rows // size)
    in_turns = -(-n_blocks // (threads := _n_threads())) * threads
    n_blocks = max(n_blocks, min(in_turns, n_rows // _LEAST_ROWS))
    ends = [n_rows * i // max(1, n_blocks) for i in range(n_blocks + 1)]
    return [slice(start, stop) for start, stop in pairwise(ends)]


@contextmanager
def products_on_one_thread() -> Iterator[None]:
    """For products so thin that threads would mostly wait for each other."""
    with _threads_of_blas(at_most=2):
        yield


@contextmanager
def _threads_of_blas(at_most: int) -> Iterator[int]:
    """How many threads may be used, products being held to one each; 1 while another call holds them."""
    if at_most < 2:
        yield 1
        return
    with _lock:
        allowed = _n_threads()
        limiter = _blas().limit(limits=1) if allowed > 1 else None
    try:
        yield min(allowed, at_most)
    finally:
        if limiter is not None:
            with _lock:
                limiter.restore_original_limits()


def _n_threads() -> int:
    return max((library["num_threads"] for library in _blas().info()), default=1)


@cache
def _blas() -> Any:
    return ThreadpoolController().select(user_api="blas")
