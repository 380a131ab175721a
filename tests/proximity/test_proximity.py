import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from proxcal.proximity import Proximity, exact


def rows(n=300, d=8, seed=0, offset=0.0, dtype=np.float64):
    return (np.random.default_rng(seed).normal(size=(n, d)) + offset).astype(dtype)


def unit(x):
    x = x.astype(np.float64)
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def slow_log_score(queries, references, k, *, leave_out_self=False):
    distances = cdist(queries, references)
    if leave_out_self:
        np.fill_diagonal(distances, np.inf)
    return -np.sort(distances, axis=1)[:, :k].mean(axis=1)


@pytest.mark.parametrize("offset", [0, 100])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("normalize", [True, False])
def test_log_score_is_minus_the_mean_distance_to_the_k_nearest(normalize, dtype, offset):
    x, q = rows(dtype=dtype, offset=offset), rows(40, seed=1, dtype=dtype, offset=offset)
    prepare = unit if normalize else (lambda a: a.astype(np.float64))
    found = Proximity(n_neighbors=5, normalize=normalize).fit(x).log_score(q)
    np.testing.assert_allclose(found, slow_log_score(prepare(q), prepare(x), 5), rtol=1e-6)


@pytest.mark.parametrize("normalize", [True, False])
def test_how_an_array_lies_in_memory_changes_nothing(normalize):
    x, q = rows(d=20, offset=1), rows(40, d=20, seed=1, offset=1)
    by_row = Proximity(normalize=normalize).fit(x)
    by_column = Proximity(normalize=normalize).fit(np.asfortranarray(x))
    np.testing.assert_array_equal(by_row.log_score(q), by_column.log_score(np.asfortranarray(q)))
    np.testing.assert_array_equal(by_row.log_score(), by_column.log_score())


def test_score_is_the_exponential_of_log_score():
    fitted = Proximity(n_neighbors=3).fit(rows())
    np.testing.assert_allclose(fitted.score(rows(9, seed=1)), np.exp(fitted.log_score(rows(9, seed=1))))


def test_cosine_distance_is_one_minus_the_cosine():
    x, q = rows(), rows(40, seed=1)
    expected = -np.sort(1 - unit(q) @ unit(x).T, axis=1)[:, :10].mean(axis=1)
    np.testing.assert_allclose(Proximity(metric="cosine").fit(x).log_score(q), expected, rtol=1e-6)


def test_fit_score_leaves_each_sample_out_of_its_own_neighbours():
    x = rows()
    found = np.log(Proximity(n_neighbors=4, normalize=False).fit_score(x))
    np.testing.assert_allclose(found, slow_log_score(x, x, 4, leave_out_self=True), rtol=1e-6)


def test_a_duplicate_is_a_neighbour_and_the_sample_itself_is_not():
    x = np.repeat(rows(20), 2, axis=0)
    found = Proximity(n_neighbors=1).fit(x).neighbors()
    np.testing.assert_array_equal(found.indices[:, 0], np.arange(40) ^ 1)
    np.testing.assert_array_equal(found.distances, 0)


def test_distances_of_near_duplicates_far_from_the_origin_do_not_cancel():
    x = rows(200, offset=1000)
    x[100:] = x[:100] + 1e-6 * rows(100, seed=3)
    found = Proximity(n_neighbors=1, normalize=False).fit(x).neighbors()
    np.testing.assert_array_equal(found.indices[:100, 0], np.arange(100, 200))
    np.testing.assert_allclose(found.distances[:100, 0], np.linalg.norm(x[100:] - x[:100], axis=1), rtol=1e-9)


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("spread", [1e-5, 1e-3])
def test_the_nearest_of_a_heap_of_near_duplicates_are_told_apart(spread, normalize):
    x = rows(400, d=64)
    x[:80] = x[0] + spread * rows(80, d=64, seed=3)
    found = Proximity(normalize=normalize).fit(x)
    expected = slow_log_score(*[unit(x) if normalize else x] * 2, 10, leave_out_self=True)
    np.testing.assert_allclose(found.log_score(), expected, rtol=1e-6)
    alone = slow_log_score(unit(x[:9]) if normalize else x[:9], unit(x) if normalize else x, 10)
    np.testing.assert_allclose(found.log_score(x[:9]), alone, rtol=1e-6)


@pytest.mark.parametrize("offset", [1e4, 1e6])
def test_features_that_differ_only_beyond_float32_are_told_apart(offset):
    x = rows(400, offset=offset)
    expected = slow_log_score(x, x, 10, leave_out_self=True)
    np.testing.assert_allclose(Proximity(normalize=False).fit(x).log_score(), expected, rtol=1e-6)


def test_log_score_does_not_underflow_where_score_does():
    fitted = Proximity(normalize=False).fit(1e6 * rows())
    assert fitted.score(1e6 * rows(5, seed=1)).max() == 0
    assert len(np.unique(fitted.log_score(1e6 * rows(5, seed=1)))) == 5


@pytest.mark.parametrize("tile", [7, 64, 1 << 15])
@pytest.mark.parametrize("chunk_size", [1, 16, 1000])
def test_blocks_do_not_change_the_neighbours(monkeypatch, chunk_size, tile):
    x = rows(dtype=np.float32)
    expected = Proximity(n_neighbors=20).fit(x).neighbors()
    monkeypatch.setattr(exact, "_TILE", tile)
    found = Proximity(n_neighbors=20, chunk_size=chunk_size).fit(x).neighbors()
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_array_equal(found.distances, expected.distances)


def test_the_order_of_references_does_not_matter():
    x, q = rows(), rows(30, seed=1)
    shuffled = np.random.default_rng(5).permutation(len(x))
    np.testing.assert_array_equal(Proximity().fit(x).log_score(q), Proximity().fit(x[shuffled]).log_score(q))


def test_one_sample_gets_what_it_gets_among_many():
    fitted, q = Proximity().fit(rows(dtype=np.float32)), rows(30, seed=1, dtype=np.float32)
    assert fitted.log_score(q[7:8])[0] == fitted.log_score(q)[7]


def test_the_distance_of_a_pair_does_not_depend_on_how_many_are_sought():
    fitted, q = Proximity().fit(rows(d=130)), rows(30, seed=1, d=130)
    ten, twenty = fitted.neighbors(q, k=10).distances, fitted.neighbors(q, k=20).distances
    np.testing.assert_array_equal(ten, twenty[:, :10])


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 999), st.sampled_from([1, 3, 40]), st.sampled_from([0.0, 1e4]), st.booleans(), st.integers(1, 12))
def test_of_references_at_one_distance_the_first_are_taken(seed, d, offset, normalize, k):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 3, size=(200, d)) * rng.integers(1, 4, size=(200, 1)) + offset
    x[rng.random(200) < 0.3] = x[0]
    fitted = Proximity(normalize=normalize, chunk_size=int(rng.integers(1, 80))).fit(x)
    q = np.concatenate([x[:20], x[:20] + rng.integers(0, 2, size=d)])
    every, nearest = fitted.neighbors(q, k=len(x)), fitted.neighbors(q, k=k)
    np.testing.assert_array_equal(nearest.indices, every.indices[:, :k])
    np.testing.assert_array_equal(nearest.distances, every.distances[:, :k])
    every, nearest = fitted.neighbors(k=len(x) - 1), fitted.neighbors(k=k)
    np.testing.assert_array_equal(nearest.indices, every.indices[:, :k])


@pytest.mark.parametrize("d", [9000, 20000])
def test_the_distance_of_a_pair_is_the_same_in_wide_rows_too(d):
    x, q = rows(20, d, dtype=np.float32), rows(5, d, seed=1, dtype=np.float32)
    among_all = Proximity(n_neighbors=1, normalize=False).fit(x).neighbors(q, k=20)
    among_few = Proximity(n_neighbors=1, normalize=False).fit(x[:7]).neighbors(q[2:3], k=7)
    of_few = among_all.indices[2] < 7
    np.testing.assert_array_equal(among_few.distances[0], among_all.distances[2][of_few])


def test_a_row_of_zeros_stays_at_the_origin():
    x = np.vstack([np.zeros((1, 8)), rows(30)])
    np.testing.assert_allclose(Proximity(n_neighbors=3).fit(x).log_score(np.zeros((1, 8))), [-2 / 3])


def test_references_are_not_copied():
    x = rows(dtype=np.float32)
    assert Proximity().fit(x).references_ is x


def test_equal_features_have_proximity_one():
    np.testing.assert_array_equal(Proximity().fit_score(np.ones((30, 4))), 1)


@pytest.mark.parametrize("n", [1, 9, 10])
def test_k_at_or_over_n_is_an_error_with_both_numbers(n):
    with pytest.raises(ValueError, match=f"n_neighbors is 10; the reference set has {n} samples"):
        Proximity().fit(rows(n))


def test_another_width_than_at_fit_is_an_error_with_both_numbers():
    with pytest.raises(ValueError, match="features has 5 columns; the reference set has 8"):
        Proximity().fit(rows()).score(rows(d=5))


def test_non_finite_features_are_an_error_with_count_and_row():
    x = rows()
    x[17, 2], x[20, 0] = np.nan, np.inf
    with pytest.raises(ValueError, match=r"features has 2 values that are not finite .*, the first in row 17"):
        Proximity().fit(x)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"metric": "manhattan"}, "metric must be one of 'euclidean', 'cosine'; got 'manhattan'"),
        ({"index": "annoy"}, "index must be one of 'auto', 'exact', 'flat', .*; got 'annoy'"),
        ({"device": 0}, "device must be a name that torch knows"),
        ({"device": "cuda", "index": "hnsw"}, "device is 'cuda'; index='hnsw' is searched by faiss on the CPU"),
        ({"device": "cpu", "device_memory": 0}, "device_memory must be a number in"),
        ({"n_neighbors": 0}, "n_neighbors must be a whole number of at least 1; got 0"),
        ({"n_neighbors": 2.5}, "n_neighbors must be a whole number"),
        ({"chunk_size": 0}, "chunk_size must be a whole number of at least 1"),
    ],
)
def test_a_wrong_setting_is_named(setting, message):
    with pytest.raises(ValueError, match=message):
        Proximity(**setting).fit(rows())


def test_features_too_long_for_float32_are_refused():
    with pytest.raises(ValueError, match="rescale"):
        Proximity(normalize=False).fit(1e25 * rows())


def test_score_before_fit_is_an_error():
    with pytest.raises(NotFittedError):
        Proximity().score(rows())


def test_an_index_whose_library_is_missing_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(ImportError, match=r"index='flat' needs faiss .*; pip install \"proxcal\[faiss\]\""):
        Proximity(index="flat").fit(rows())


def test_torch_that_is_missing_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"device='cpu' needs torch .*; pip install \"proxcal\[torch\]\""):
        Proximity(device="cpu").fit(rows())


def test_clone_keeps_the_settings():
    settings = Proximity(n_neighbors=3, metric="cosine", normalize=False, chunk_size=7).get_params()
    assert clone(Proximity(**settings)).get_params() == settings


@pytest.mark.parametrize("settings", [{}, {"normalize": False}, {"metric": "cosine"}])
@pytest.mark.parametrize("dtypes", [(np.float64, np.float64), (np.float32, np.float16), (np.float16, np.float64)])
def test_references_in_batches_are_bit_for_bit_those_of_one_fit(settings, dtypes):
    batches = [rows(100, seed=1, dtype=dtypes[0]), rows(1, seed=2, dtype=dtypes[1]), rows(70, seed=3, dtype=dtypes[0])]
    streamed = Proximity(**settings)
    for batch in batches:
        assert streamed.partial_fit(batch) is streamed
    whole = Proximity(**settings).fit(np.concatenate(batches))
    assert streamed.state_arrays().keys() == whole.state_arrays().keys()
    for name, value in whole.state_arrays().items():
        np.testing.assert_array_equal(getattr(streamed, name), value)
    q = rows(40, seed=4)
    np.testing.assert_array_equal(streamed.log_score(q), whole.log_score(q))


def test_further_references_of_a_compressed_search_are_those_of_a_compressed_whole():
    first, further, q = rows(200), rows(50, seed=1), rows(40, seed=2)
    streamed = Proximity().fit(first).compress().partial_fit(further)
    whole = Proximity().fit(np.concatenate([first, further])).compress()
    np.testing.assert_array_equal(streamed.log_score(q), whole.log_score(q))


@pytest.mark.parametrize(
    ("further", "message"),
    [(rows(20, d=7), "features has 7 columns; the reference set has 8"), (rows(9) * 1e30, "squares overflow")],
)
def test_further_references_that_do_not_fit_are_refused_and_change_nothing(further, message):
    fitted = Proximity().fit(rows())
    with pytest.raises(ValueError, match=message):
        fitted.partial_fit(further)
    np.testing.assert_array_equal(fitted.references_, rows())


def test_a_first_batch_needs_more_samples_than_neighbours():
    with pytest.raises(ValueError, match="n_neighbors is 10; the reference set has 10 samples"):
        Proximity().partial_fit(rows(10))
