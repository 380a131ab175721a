import copy
import pickle
import sys

import numpy as np
import pytest

from proxcal import ProxcalWarning, _store
from proxcal.proximity import Proximity, backends, faiss_index

pytest.importorskip("faiss")
KINDS = list(faiss_index.KINDS)
APPROXIMATE = KINDS[1:]


def clustered(n, d=16, seed=0, dtype=np.float32):
    """Points about 20 centres, the same whatever the seed: neighbours mean something."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(99).normal(size=(20, d))
    return (centres[rng.integers(20, size=n)] + 0.5 * rng.normal(size=(n, d))).astype(dtype)


@pytest.fixture(scope="module", params=KINDS)
def fitted(request):
    return Proximity(index=request.param).fit(clustered(1500))


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_flat_finds_what_the_exact_search_finds(metric, normalize, dtype):
    x, q = clustered(700, dtype=dtype) + dtype(10), clustered(90, seed=1, dtype=dtype) + dtype(10)
    settings = {"metric": metric, "normalize": normalize}
    flat, exact = Proximity(index="flat", **settings).fit(x), Proximity(**settings).fit(x)
    np.testing.assert_allclose(flat.log_score(q), exact.log_score(q), atol=1e-6)
    np.testing.assert_allclose(flat.log_score(), exact.log_score(), atol=1e-6)
    assert flat.recall_ == 1


def test_recall_of_samples_never_seen_is_what_fit_measured(fitted):
    queries = clustered(600, seed=1)
    exact = Proximity().fit(fitted.references_).neighbors(queries).distances
    found = (fitted.neighbors(queries).distances <= exact[:, -1:]).mean(axis=1)
    sampling_error = 3 * np.sqrt(2) * found.std() / np.sqrt(faiss_index._SAMPLE)
    assert found.mean() >= fitted.recall_ - sampling_error - 1e-3
    assert fitted.recall_ >= faiss_index.ENOUGH


def test_distances_are_those_of_the_neighbours_given(fitted):
    queries = clustered(50, seed=1).astype(np.float64)
    found = fitted.neighbors(queries)
    unit = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (queries, fitted.references_.astype(float))]
    expected = np.linalg.norm(unit[0][:, None] - unit[1][found.indices], axis=2)
    np.testing.assert_allclose(found.distances, expected, rtol=1e-6)
    assert (np.diff(found.distances) >= 0).all()


def test_a_reference_is_not_its_own_neighbour_and_no_neighbour_is_given_twice(fitted):
    found = fitted.neighbors().indices
    assert not (found == np.arange(len(found))[:, None]).any()
    assert all(len(set(row)) == len(row) for row in found)


def test_among_many_duplicates_the_sample_itself_is_left_out(fitted):
    found = Proximity(n_neighbors=3, index=fitted.index).fit(np.repeat(clustered(8), 50, axis=0)).neighbors()
    assert not (found.indices == np.arange(400)[:, None]).any()
    np.testing.assert_array_equal(found.distances, 0)


@pytest.mark.filterwarnings("ignore::proxcal.ProxcalWarning")
@pytest.mark.parametrize("n", [2, 5, 90])
@pytest.mark.parametrize("kind", KINDS)
def test_all_others_are_found_where_all_are_asked_for(kind, n):
    found = Proximity(n_neighbors=n - 1, index=kind).fit(clustered(n, d=5)).neighbors()
    np.testing.assert_array_equal(np.sort(found.indices), [[j for j in range(n) if j != i] for i in range(n)])


def test_the_same_data_gives_the_same_neighbours(fitted):
    again = Proximity(index=fitted.index).fit(clustered(1500))
    np.testing.assert_array_equal(again.log_score(clustered(50, seed=1)), fitted.log_score(clustered(50, seed=1)))
    assert again.recall_ == fitted.recall_


def reloaded(fitted, path):
    _store.write(path, fitted)
    return _store.read(path, {"Proximity": Proximity})


@pytest.mark.parametrize("way", ["file", "pickle", "copy"])
def test_what_is_kept_finds_the_same_neighbours_bit_for_bit(fitted, way, tmp_path):
    kept = {
        "file": lambda: reloaded(fitted, tmp_path / "proximity"),
        "pickle": lambda: pickle.loads(pickle.dumps(fitted)),  # noqa: S301
        "copy": lambda: copy.deepcopy(fitted),
    }[way]()
    for queries in (None, clustered(50, seed=1)):
        before, after = fitted.neighbors(queries), kept.neighbors(queries)
        np.testing.assert_array_equal(before.indices, after.indices)
        np.testing.assert_array_equal(before.distances, after.distances)
    assert kept.recall_ == fitted.recall_


def test_a_loaded_index_is_saved_again(fitted, tmp_path):
    once = reloaded(fitted, tmp_path / "once")
    twice = reloaded(once, tmp_path / "twice")
    np.testing.assert_array_equal(twice.log_score(), fitted.log_score())
    np.testing.assert_array_equal(reloaded(twice, tmp_path / "thrice").log_score(), fitted.log_score())


@pytest.mark.filterwarnings("ignore::proxcal.ProxcalWarning")
def test_more_neighbours_than_the_cells_looked_into_hold_are_found(monkeypatch):
    monkeypatch.setattr(faiss_index, "ENOUGH", 0.0)  # one cell of 38 is looked into
    fitted = Proximity(n_neighbors=5, index="ivfflat").fit(clustered(1500))
    found = fitted.neighbors(clustered(20, seed=1), k=700)
    assert np.isfinite(found.distances).all()
    assert all(len(set(row)) == 700 for row in found.indices)


@pytest.mark.parametrize("kind", ["ivfflat", "hnsw"])
def test_neighbours_of_samples_in_no_cluster_of_the_references_are_found_too(kind):
    centres = 4 * np.random.default_rng(0).normal(size=(60, 16))
    noise = np.random.default_rng(1).normal(size=(3000, 16))
    fitted = Proximity(index=kind).fit(centres[np.arange(3000) % 60] + noise)
    strangers = 4 * np.random.default_rng(2).normal(size=(300, 16))
    exact = Proximity().fit(fitted.references_).log_score(strangers)
    assert np.abs(fitted.log_score(strangers) - exact).mean() < 0.005


def test_too_low_a_recall_is_warned_of(monkeypatch):
    monkeypatch.setattr(faiss_index, "ENOUGH", 0.0)  # the first, shortest look is taken to be enough
    noise = np.random.default_rng(0).normal(size=(2000, 64))
    with pytest.warns(ProxcalWarning, match=r"index='ivfflat' finds \d+ % of the nearest 10 of 512 references"):
        fitted = Proximity(index="ivfflat").fit(noise)
    assert fitted.recall_ < 0.9


def test_auto_compares_all_of_few_references():
    assert Proximity(index="auto").fit(clustered(1500)).index_ == "exact"


@pytest.fixture
def many(monkeypatch):
    """Some hundreds of references count as very many."""
    monkeypatch.setattr(backends, "MANY", 500)


def test_auto_among_many_references_looks_into_the_cells_that_hold_their_neighbours(many, monkeypatch):
    monkeypatch.setattr(backends, "_COSTLIEST", 1)
    fitted = Proximity(index="auto").fit(clustered(1500))
    assert fitted.index_ == "ivfflat"
    assert fitted.recall_ >= faiss_index.ENOUGH


def test_auto_compares_all_references_where_a_few_cells_do_not_hold_the_neighbours(many):
    noise = np.random.default_rng(0).normal(size=(1500, 64))
    fitted = Proximity(index="auto").fit(noise)
    assert (fitted.index_, fitted.recall_) == ("exact", 1.0)


def test_auto_gives_wide_rows_fewer_cells_than_narrow_ones():
    shares = [backends._worth(d) for d in (64, 784, 2048)]
    np.testing.assert_allclose(shares, [1 / 15.6, 1 / 35.5, 1 / 38.1], rtol=0.01)


def test_auto_without_faiss_compares_all_references(many, monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    assert Proximity(index="auto").fit(clustered(1500)).index_ == "exact"


def test_what_auto_chose_is_saved(many, monkeypatch, tmp_path):
    monkeypatch.setattr(backends, "_COSTLIEST", 1)
    fitted = Proximity(index="auto").fit(clustered(1500))
    loaded = reloaded(fitted, tmp_path / "proximity")
    assert loaded.index_ == "ivfflat"
    np.testing.assert_array_equal(loaded.log_score(clustered(50, seed=1)), fitted.log_score(clustered(50, seed=1)))


@pytest.mark.parametrize(
    ("kind", "n", "d", "expected"),
    [
        ("flat", 100, 7, "Flat"),
        ("hnsw", 100, 7, "HNSW32,Flat"),
        ("ivfflat", 1_000_000, 2048, "IVF4000,Flat"),
        ("ivfflat", 10_000, 2048, "IVF256,Flat"),  # 39 rows a centre
        ("ivfflat", 20, 2048, "IVF1,Flat"),
        ("ivfpq", 1_000_000, 2048, "IVF4000,PQ256x8np"),
        ("ivfpq", 1_000_000, 2047, "IVF4000,PQ256x8np"),
        ("ivfpq", 1_000_000, 50, "IVF4000,PQ17x8np"),
        ("ivfpq", 1000, 8, "IVF25,PQ8x4np"),
    ],
)
def test_an_index_is_sized_by_rows_and_columns(kind, n, d, expected):
    assert faiss_index._factory_string(kind, n, d) == expected
