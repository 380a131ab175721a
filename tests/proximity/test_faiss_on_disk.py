"""index="ivfflat" among references that stay on disk: its cells do too."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from proxcal import ProxcalWarning, _mapped, _store
from proxcal.proximity import Proximity, _disk_cells, faiss_index

pytest.importorskip("faiss")
N, D = 3000, 13
SETTINGS = {"index": "ivfflat", "n_neighbors": 7}


@pytest.fixture(autouse=True)
def small_is_large(monkeypatch):
    monkeypatch.setattr(_mapped, "LARGE", 1000)


def clustered(n, seed=0):
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(99).normal(size=(25, D))
    return centres[rng.integers(25, size=n)] + 0.3 * rng.normal(size=(n, D))


@pytest.fixture(params=["<f2", "<f4", "<f8"])
def mapped(request, tmp_path):
    np.save(tmp_path / "features.npy", clustered(N).astype(request.param))
    return np.load(tmp_path / "features.npy", mmap_mode="r")


def reloaded(fitted, path):
    _store.write(path, fitted)
    return _store.read(path, {"Proximity": Proximity})


def the_same(fitted, other, queries):
    before, after = fitted.neighbors(queries), other.neighbors(queries)
    np.testing.assert_array_equal(before.indices, after.indices)
    np.testing.assert_array_equal(before.distances, after.distances)
    assert fitted.recall_ == other.recall_


@pytest.mark.parametrize("settings", [{}, {"normalize": False}, {"metric": "cosine"}])
def test_neighbours_are_those_of_the_exact_search(mapped, settings):
    fitted, queries = Proximity(**SETTINGS, **settings).fit(mapped), clustered(300, seed=1)
    expected = Proximity(n_neighbors=7, **settings).fit(np.array(mapped)).neighbors(queries)
    found = fitted.neighbors(queries)
    assert fitted.recall_ >= faiss_index.ENOUGH
    assert (found.distances <= expected.distances[:, -1:]).mean() >= 0.9
    same = found.indices == expected.indices
    np.testing.assert_array_equal(found.distances[same], expected.distances[same])


def test_where_all_cells_are_looked_into_all_neighbours_are_found(mapped, monkeypatch):
    monkeypatch.setattr(faiss_index, "ENOUGH", 1.1)
    fitted, queries = Proximity(**SETTINGS).fit(mapped), clustered(300, seed=1)
    exact = Proximity(n_neighbors=7).fit(mapped)
    np.testing.assert_array_equal(fitted.neighbors(queries).indices, exact.neighbors(queries).indices)
    np.testing.assert_array_equal(fitted.neighbors().indices, exact.neighbors().indices)


def test_rows_longer_than_float16_holds_are_found(tmp_path):
    np.save(tmp_path / "features.npy", 1e7 * clustered(N))
    fitted = Proximity(**SETTINGS, normalize=False).fit(np.load(tmp_path / "features.npy", mmap_mode="r"))
    assert fitted.recall_ >= faiss_index.ENOUGH


@pytest.mark.parametrize("way", ["file", "file of a file", "pickle", "copy"])
def test_what_is_kept_finds_the_same_neighbours_bit_for_bit(mapped, way, tmp_path):
    fitted, path = Proximity(**SETTINGS).fit(mapped), tmp_path / "proximity"
    kept = {
        "file": lambda: reloaded(fitted, path),
        "file of a file": lambda: reloaded(reloaded(fitted, tmp_path / "once"), path),
        "pickle": lambda: pickle.loads(pickle.dumps(fitted)),  # noqa: S301
        "copy": lambda: copy.deepcopy(fitted),
    }[way]()
    the_same(fitted, kept, clustered(50, seed=1))
    the_same(fitted, kept, None)


def test_a_search_answers_while_it_is_saved(mapped, tmp_path):
    fitted, queries = Proximity(**SETTINGS).fit(mapped), clustered(50, seed=1)
    expected = fitted.log_score(queries)
    with ThreadPoolExecutor(4) as pool:
        saved = [pool.submit(_store.write, tmp_path / str(i), fitted) for i in range(3)]
        found = [pool.submit(fitted.log_score, queries) for _ in range(20)]
    assert all(done.exception() is None for done in saved)
    for scores in found:
        np.testing.assert_array_equal(scores.result(), expected)


def test_a_loaded_search_does_not_mind_that_another_is_saved_under_its_name(mapped, tmp_path):
    path, queries = tmp_path / "proximity", clustered(50, seed=1)
    first = Proximity(**SETTINGS).fit(mapped)
    kept, not_yet_asked = reloaded(first, path), reloaded(first, tmp_path / "other")
    kept.log_score(queries)
    for name in ("proximity", "other"):
        _store.write(tmp_path / name, Proximity(**SETTINGS).fit(mapped[::-1][:2000]), overwrite=True)
    np.testing.assert_array_equal(kept.log_score(), first.log_score())
    np.testing.assert_array_equal(not_yet_asked.log_score(queries), first.log_score(queries))


@pytest.mark.filterwarnings("ignore::proxcal.ProxcalWarning")
def test_more_neighbours_than_the_cells_looked_into_hold_are_found(mapped, monkeypatch):
    monkeypatch.setattr(faiss_index, "ENOUGH", 0.0)  # one cell of 76 is looked into
    found = Proximity(**SETTINGS).fit(mapped).neighbors(clustered(20, seed=1), k=900)
    assert np.isfinite(found.distances).all()
    assert all(len(set(row)) == 900 for row in found.indices)


@pytest.fixture
def let_go(monkeypatch):
    """How often cells were let go, which they are as soon as one is in memory."""
    times = []
    attach = _disk_cells.DiskCells.attach
    monkeypatch.setattr(_disk_cells, "LARGE", 1)
    monkeypatch.setattr(_disk_cells.DiskCells, "attach", lambda *a: times.append(1) or attach(*a))
    return times


def test_cells_let_go_are_read_again(mapped, let_go):
    fitted, queries = Proximity(**SETTINGS).fit(mapped), clustered(200, seed=1)
    expected = fitted.log_score(queries)
    let_go.clear()
    np.testing.assert_array_equal(fitted.log_score(queries), expected)
    assert len(let_go) == 200  # a query at a time


def test_what_is_in_memory_together_has_its_bound(mapped, let_go, monkeypatch):
    monkeypatch.setattr(_disk_cells, "LARGE", bound := 40_000)
    fitted = Proximity(**SETTINGS).fit(mapped)
    cells, together = fitted._searcher._cells, []
    make_room_for = cells.make_room_for
    monkeypatch.setattr(
        cells,
        "make_room_for",
        lambda *a: (make_room_for(*a), together.append(cells.sizes[cells._in_memory].sum() * (2 * 16 + 8))),
    )
    fitted.log_score(clustered(200, seed=1))
    assert max(together) <= 1.5 * bound  # queries are counted out by cells of mean size
    assert cells.content.nbytes > 2 * bound
    assert len(together) > 3


def test_cells_are_let_go_while_other_threads_look_into_them(mapped, let_go):
    fitted, queries = Proximity(**SETTINGS).fit(mapped), clustered(200, seed=1)
    expected = fitted.log_score(queries)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: fitted.log_score(queries), range(12)):
            np.testing.assert_array_equal(found, expected)
    assert len(let_go) > 12


def test_equal_references_are_all_found(tmp_path):
    np.save(tmp_path / "features.npy", np.repeat(clustered(8), 50, axis=0))
    fitted = Proximity(n_neighbors=3, index="ivfflat").fit(np.load(tmp_path / "features.npy", mmap_mode="r"))
    found = fitted.neighbors()
    assert not (found.indices == np.arange(400)[:, None]).any()
    np.testing.assert_array_equal(found.distances, 0)


def test_a_search_fitted_anew_is_kept_as_it_is_then(mapped):
    fitted = copy.deepcopy(Proximity(**SETTINGS).fit(mapped))  # has not been asked: its cells are not in use yet
    fitted.partial_fit(clustered(500, seed=2))
    the_same(fitted, copy.deepcopy(fitted), clustered(50, seed=1))
    hnsw = copy.deepcopy(Proximity(**SETTINGS).fit(mapped)).set_params(index="hnsw").fit(clustered(500))
    the_same(hnsw, copy.deepcopy(hnsw), clustered(50, seed=1))


def test_a_fit_that_fails_leaves_what_was_fitted(mapped, monkeypatch):
    fitted, queries = Proximity(**SETTINGS).fit(mapped), clustered(50, seed=1)
    expected = fitted.log_score(queries)
    monkeypatch.setattr(_disk_cells.tempfile, "TemporaryFile", full)
    with pytest.raises(OSError, match=r"has no room for .* MB of an index .* let TMPDIR name a folder"):
        fitted.fit(mapped[::-1])
    np.testing.assert_array_equal(fitted.log_score(queries), expected)
    with pytest.raises(OSError, match="no room"):
        (new := Proximity(**SETTINGS)).fit(mapped)
    with pytest.raises(NotFittedError):
        new.log_score(queries)


def test_a_question_that_failed_can_be_asked_again(mapped, monkeypatch):
    fitted, queries = Proximity(**SETTINGS).fit(mapped), clustered(50, seed=1)
    other = copy.deepcopy(fitted)
    with monkeypatch.context() as patched:
        patched.setattr(_disk_cells.tempfile, "TemporaryFile", full)
        with pytest.raises(OSError, match="no room"):
            other.log_score(queries)
    the_same(fitted, other, queries)


def test_the_first_questions_may_come_at_once(mapped):
    fitted, queries = Proximity(**SETTINGS).fit(mapped), clustered(50, seed=1)
    expected = fitted.log_score(queries)
    for _ in range(5):
        other = copy.deepcopy(fitted)
        with ThreadPoolExecutor(4) as pool:
            for found in pool.map(lambda _, other=other: other.log_score(queries), range(4)):
                np.testing.assert_array_equal(found, expected)


class full:
    """A file on a disk without room."""

    def __init__(self):
        self.closed = False

    def truncate(self, _):
        raise OSError(28, "No space left on device")

    writelines = truncate

    def close(self):
        self.closed = True


@pytest.mark.parametrize("seed", range(5))
def test_references_that_are_all_the_same_are_at_no_distance(seed, tmp_path):
    row = np.random.default_rng(seed).normal(size=(1, 64))
    np.save(tmp_path / "features.npy", np.repeat(row, 400, axis=0))
    fitted = Proximity(n_neighbors=3, index="ivfflat").fit(np.load(tmp_path / "features.npy", mmap_mode="r"))
    np.testing.assert_allclose(fitted.neighbors(row).distances, 0, atol=1e-12)


def test_a_copy_holds_its_cells_once(mapped):
    other = copy.deepcopy(Proximity(**SETTINGS).fit(mapped))
    other.log_score(clustered(5))
    assert _mapped.mapping_of(other._searcher._cells.content) is not None


def test_a_faiss_without_lists_on_disk_is_refused(mapped, monkeypatch):
    loaded = copy.deepcopy(Proximity(**SETTINGS).fit(mapped))
    monkeypatch.delattr("faiss.OnDiskInvertedLists")
    with pytest.raises(ValueError, match="faiss lacks on this system; take index='exact', or references in memory"):
        Proximity(**SETTINGS).fit(mapped)
    with pytest.raises(ValueError, match="faiss lacks on this system; fit it again with index='exact'"):
        loaded.log_score(clustered(5))


def test_too_low_a_recall_is_warned_of(tmp_path, monkeypatch):
    monkeypatch.setattr(faiss_index, "ENOUGH", 0.0)
    np.save(tmp_path / "features.npy", np.random.default_rng(0).normal(size=(2000, 64)))
    with pytest.warns(ProxcalWarning, match="index='ivfflat' finds"):
        Proximity(index="ivfflat").fit(np.load(tmp_path / "features.npy", mmap_mode="r"))
