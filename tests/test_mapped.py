import numpy as np
import pytest

from proxcal import _mapped
from proxcal._mapped import Spool, is_large, mapping_of, release
from proxcal._validation import blocks_of, joined_rows, large_blocks, row_blocks, take_rows

ROWS = np.arange(600.0).reshape(200, 3)


@pytest.fixture
def on_disk(tmp_path):
    np.save(tmp_path / "rows.npy", ROWS)
    return np.load(tmp_path / "rows.npy", mmap_mode="r")


@pytest.mark.parametrize("view", [lambda a: a, np.asarray, lambda a: a[5:], lambda a: np.asarray(a)[::2].T])
def test_views_of_a_file_are_known(on_disk, view):
    assert mapping_of(view(on_disk)) is not None


@pytest.mark.parametrize("copied", [np.array, lambda a: a[[1, 2]], lambda a: a + 1, lambda a: ROWS])
def test_arrays_in_memory_are_known(on_disk, copied):
    assert mapping_of(copied(on_disk)) is None


def test_what_was_let_go_is_read_again(on_disk):
    total = on_disk.sum()
    release(on_disk)
    assert on_disk.sum() == total


def test_changes_of_a_private_mapping_are_never_let_go(tmp_path, on_disk):
    private = np.load(tmp_path / "rows.npy", mmap_mode="c")
    private[:] = -1
    release(private)
    assert (private == -1).all()


def test_walking_over_a_file_lets_go_of_it(on_disk, monkeypatch):
    let_go = []
    monkeypatch.setattr("proxcal._validation.release", let_go.append)
    assert list(blocks_of(on_disk, 24 * 50)) == list(row_blocks(200, 3, 24 * 50))
    assert len(let_go) == 4


def test_large_blocks_are_made_of_whole_row_blocks():
    rows = np.broadcast_to(0.0, (5_000_000, 30))
    starts = {block.start for block in row_blocks(*rows.shape)}
    for beside in (0, 1000, 10**9):
        large = list(large_blocks(rows, beside))
        assert {block.start for block in large} <= starts
        assert sum(block.stop - block.start for block in large) == len(rows)


@pytest.mark.parametrize("dtype", ["<f2", ">f8", "i4", "U3"])
def test_spooled_rows_come_back(dtype):
    rows = (np.arange(40) % 10).reshape(20, 2).astype(dtype)
    with Spool() as spool:
        for block in (slice(0, 7), slice(7, 7), slice(7, 20)):
            spool.append(rows[block])
        found = spool.mapped()
    assert found.dtype == rows.dtype
    assert mapping_of(found) is not None
    np.testing.assert_array_equal(found, rows)


def test_a_spool_of_nothing_is_empty():
    with Spool() as spool:
        assert spool.mapped().shape == (0,)


def test_a_spool_leaves_no_file(tmp_path):
    with Spool(tmp_path) as spool:
        spool.append(ROWS)
        np.testing.assert_array_equal(spool.mapped(), ROWS)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("limit", [0, 10**9])
def test_chosen_rows_are_the_same_wherever_they_are_kept(on_disk, monkeypatch, limit):
    monkeypatch.setattr(_mapped, "LARGE", limit)
    rows = np.array([3, 199, 3, 0])
    found = take_rows(on_disk, rows)
    assert (mapping_of(found) is not None) == (limit == 0)
    np.testing.assert_array_equal(found, ROWS[rows])


def test_only_what_is_mapped_is_large(on_disk, monkeypatch):
    monkeypatch.setattr(_mapped, "LARGE", 0)
    assert is_large(on_disk)
    assert not is_large(ROWS)


@pytest.mark.parametrize("limit", [0, 10**9])
def test_joined_rows_are_the_same_wherever_they_are_kept(on_disk, monkeypatch, limit):
    monkeypatch.setattr(_mapped, "LARGE", limit)
    found = joined_rows(on_disk, ROWS[:5].astype(np.float32))
    assert (mapping_of(found) is not None) == (limit == 0)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, np.concatenate([ROWS, ROWS[:5]]))
