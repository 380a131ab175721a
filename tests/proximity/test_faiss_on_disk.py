"""index="ivfflat" among references that stay on disk: its cells do too."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from proxcal import ProxcalWarning, _mapped, _store
from proxcal.proximity import Proximity, faiss_index, faiss_on_disk

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


def test_a_saved_search_goes_on_while_it_is_saved_and_loaded(mapped, tmp_path):
    fitted = Proximity(**SETTINGS).fit(mapped)
    queries = clustered(50, seed=1)
    before = fitted.log_score(queries)
    loaded = reloaded(fitted, tmp_path / "proximity")
    np.testing.assert_array_equal(fitted.log_score(queries), before)
    np.testing.assert_array_equal(loaded.log_score(queries), before)


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


def test_pages_let_go_are_read_again(mapped, monkeypatch):
    fitted, queries = Proximity(**SETTINGS, chunk_size=16).fit(mapped), clustered(200, seed=1)
    expected = fitted.log_score(queries)
    monkeypatch.setattr(faiss_on_disk, "LARGE", 1)
    np.testing.assert_array_equal(fitted.log_score(queries), expected)


def test_equal_references_are_all_found(tmp_path):
    np.save(tmp_path / "features.npy", np.repeat(clustered(8), 50, axis=0))
    fitted = Proximity(n_neighbors=3, index="ivfflat").fit(np.load(tmp_path / "features.npy", mmap_mode="r"))
    found = fitted.neighbors()
    assert not (found.indices == np.arange(400)[:, None]).any()
    np.testing.assert_array_equal(found.distances, 0)


def test_a_faiss_without_lists_on_disk_is_refused(mapped, monkeypatch):
    monkeypatch.delattr("faiss.OnDiskInvertedLists")
    with pytest.raises(ValueError, match="does not have on this system; take index='exact', or give the references"):
        Proximity(**SETTINGS).fit(mapped)


def test_cells_are_let_go_while_other_threads_look_into_them(mapped, monkeypatch):
    fitted, queries = Proximity(**SETTINGS, chunk_size=16).fit(mapped), clustered(200, seed=1)
    expected = fitted.log_score(queries)
    monkeypatch.setattr(faiss_on_disk, "LARGE", 1)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: fitted.log_score(queries), range(12)):
            np.testing.assert_array_equal(found, expected)


def test_too_low_a_recall_is_warned_of(tmp_path, monkeypatch):
    monkeypatch.setattr(faiss_index, "ENOUGH", 0.0)
    np.save(tmp_path / "features.npy", np.random.default_rng(0).normal(size=(2000, 64)))
    with pytest.warns(ProxcalWarning, match="index='ivfflat' finds"):
        Proximity(index="ivfflat").fit(np.load(tmp_path / "features.npy", mmap_mode="r"))
