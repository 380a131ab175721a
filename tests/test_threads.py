import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from proxcal import _threads
from proxcal._threads import even_blocks, in_threads, products_on_one_thread


class FakeBlas:
    """A BLAS that may use two threads."""

    def __init__(self):
        self.allowed = 2

    def info(self):
        return [{"num_threads": self.allowed}]

    def limit(self, *, limits):
        self.allowed = limits
        return self

    def restore_original_limits(self):
        self.allowed = 2


@pytest.fixture
def blas(monkeypatch):
    fake = FakeBlas()
    monkeypatch.setattr(_threads, "_blas", lambda: fake)
    return fake


def halves(n=10):
    return [slice(0, n // 2), slice(n // 2, n)]


def test_blocks_run_at_the_same_time(blas):
    meeting = threading.Barrier(2, timeout=10)
    in_threads(lambda _: meeting.wait(), halves())


def test_products_have_one_thread_each_meanwhile_and_all_of_them_after(blas):
    during = []
    in_threads(lambda _: during.append(blas.allowed), halves())
    assert during == [1, 1]
    assert blas.allowed == 2


def test_an_error_in_a_block_is_raised_and_the_threads_given_back(blas):
    with pytest.raises(ZeroDivisionError):
        in_threads(lambda block: 1 // block.start, halves())
    assert blas.allowed == 2


def test_work_within_a_block_takes_no_more_threads(blas):
    def outer(_):
        mine = threading.get_ident()
        in_threads(lambda _: seen.append(threading.get_ident() == mine), halves())

    seen = []
    in_threads(outer, halves())
    assert seen == [True] * 4


def test_where_blas_is_held_to_one_thread_blocks_take_turns():
    seen = []
    with threadpool_limits(1, "blas"):
        in_threads(lambda block: seen.append((block.start, threading.get_ident())), halves())
    assert seen == [(0, threading.get_ident()), (5, threading.get_ident())]


def test_every_block_is_done():
    done = np.zeros(100, dtype=int)

    def work(block):
        done[block] += 1

    in_threads(work, [slice(i, i + 7) for i in range(0, 100, 7)])
    np.testing.assert_array_equal(done, 1)


@pytest.mark.parametrize(("n", "expected"), [(30, 1), (600, 2), (1000, 2), (1025, 4), (25_000, 50), (0, 0)])
def test_blocks_keep_all_threads_busy(blas, n, expected):
    blocks = even_blocks(n, 512)
    sizes = [block.stop - block.start for block in blocks]
    assert len(blocks) == expected
    assert sum(sizes) == n
    assert max(sizes, default=0) - min(sizes, default=0) <= 1


def test_thin_products_have_one_thread_and_all_of_them_after(blas):
    with products_on_one_thread():
        assert blas.allowed == 1
    assert blas.allowed == 2
