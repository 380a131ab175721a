import tracemalloc

import numpy as np
import pytest

import proxcal as px
from proxcal import _mapped
from proxcal.proximity.exact import ExactSearch
from proxcal.proximity.parts import PartsSearch
from proxcal.proximity.references import References

N, D = 700, 6


def references(kind, dtype):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(N, D))
    if kind == "copies":
        rows[::3] = rows[0]
    elif kind == "far":
        rows += 1000
    return References.of(rows.astype(dtype), unit=kind == "unit")


@pytest.mark.parametrize(("kind", "dtype"), [("unit", "<f2"), ("copies", ">f8"), ("far", "<f4")])
@pytest.mark.parametrize("n_bytes", [3000, 20_000])
@pytest.mark.parametrize("own", [False, True])
def test_the_nearest_of_all_parts_are_those_of_the_whole(kind, dtype, n_bytes, own):
    whole, k = references(kind, dtype), 12
    asked = whole.rows, whole.scale, k, np.arange(N) if own else None
    found, expected = PartsSearch(whole, 64, n_bytes).search(*asked), ExactSearch(whole, 64).search(*asked)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_array_equal(found.distances, expected.distances)


@pytest.mark.parametrize("k", [1, 349, 350, N - 1])
def test_any_number_of_neighbours_can_be_asked_for(k):
    whole = references("unit", "<f4")
    asked = whole.rows[:20], whole.scale[:20], k, np.arange(20)
    found, expected = PartsSearch(whole, 64, 3000).search(*asked), ExactSearch(whole, 64).search(*asked)
    np.testing.assert_array_equal(found.indices, expected.indices)


def test_a_part_is_read_once_for_many_queries():
    reads = []

    class Counted(PartsSearch):
        def _read(self, part):
            reads.append(part)
            return super()._read(part)

    whole = references("unit", "<f4")
    Counted(whole, chunk_size=8, n_bytes=N * D * 8).search(whole.rows, whole.scale, 3, None)
    assert reads == [slice(0, N)]


@pytest.fixture
def large(tmp_path, monkeypatch):
    """Features of 15 MB in a file, where 1 MB counts as large."""
    monkeypatch.setattr(_mapped, "LARGE", 1 << 20)
    monkeypatch.setattr(PartsSearch.__init__, "__defaults__", (1 << 20,))
    rows = np.random.default_rng(0).normal(size=(120_000, 64)).astype(np.float16)
    np.save(tmp_path / "features.npy", rows)
    return np.load(tmp_path / "features.npy", mmap_mode="r")


def test_references_on_disk_are_never_whole_in_memory(large):
    prox = px.Proximity(chunk_size=32)
    tracemalloc.start()
    prox.fit(large)
    found = prox.neighbors(large[:40])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert isinstance(prox._searcher, PartsSearch)
    assert peak < large.nbytes
    expected = px.Proximity().fit(np.array(large)).neighbors(np.array(large[:40]))
    np.testing.assert_array_equal(found.distances, expected.distances)
    np.testing.assert_array_equal(found.indices, expected.indices)
