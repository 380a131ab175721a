import numpy as np
import pytest

from proxcal import _store
from proxcal.proximity import Proximity

torch = pytest.importorskip("torch")
from proxcal.proximity import _shard, torch_search  # noqa: E402 (needs no torch, but is of no use without)

GIB = 1 << 30


def clustered(n, d=24, seed=0, dtype=np.float32):
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(99).normal(size=(20, d))
    return (centres[rng.integers(20, size=n)] + 0.5 * rng.normal(size=(n, d))).astype(dtype)


def assert_same(found, expected):
    np.testing.assert_allclose(found.distances, expected.distances, rtol=1e-9, atol=1e-12)
    same = found.indices == expected.indices
    np.testing.assert_allclose(found.distances[~same], expected.distances[~same], atol=1e-9)  # ties alone


@pytest.fixture(params=["cpu", "cpu,cpu", "in parts"])
def settings(request, monkeypatch):
    """On one device, on two, and on one that holds a fifth of the references."""
    if request.param != "in parts":
        return {"device": request.param}
    monkeypatch.setattr(torch_search, "_LEAST_ROWS", 1)
    return {"device": "cpu", "device_memory": 2 * 300 * (24 * 8 + 64) / GIB}


@pytest.mark.parametrize(
    ("normalize", "metric", "dtype"),
    [
        (True, "euclidean", np.float32),
        (False, "euclidean", np.float64),
        (True, "euclidean", np.float16),
        (True, "cosine", np.float32),
    ],
)
def test_it_finds_what_the_exact_search_finds(settings, normalize, metric, dtype):
    x, q = clustered(1500, dtype=dtype) + dtype(10), clustered(90, seed=1, dtype=dtype) + dtype(10)
    exact = Proximity(normalize=normalize, metric=metric).fit(x)
    by_torch = Proximity(normalize=normalize, metric=metric, **settings).fit(x)
    assert_same(by_torch.neighbors(q), exact.neighbors(q))
    assert_same(by_torch.neighbors(), exact.neighbors())


def test_a_duplicate_is_a_neighbour_and_the_sample_itself_is_not(settings):
    found = Proximity(n_neighbors=1, **settings).fit(np.repeat(clustered(400), 2, axis=0)).neighbors()
    np.testing.assert_array_equal(found.indices[:, 0], np.arange(800) ^ 1)
    np.testing.assert_array_equal(found.distances, 0)


@pytest.mark.parametrize("n", [2, 3, 40])
def test_all_others_are_found_where_all_are_asked_for(settings, n):
    found = Proximity(n_neighbors=n - 1, **settings).fit(clustered(n)).neighbors()
    np.testing.assert_array_equal(np.sort(found.indices), [[j for j in range(n) if j != i] for i in range(n)])


def test_the_same_data_gives_the_same_neighbours_and_so_does_a_saved_search(settings, tmp_path):
    fitted = Proximity(**settings).fit(clustered(1200))
    _store.write(tmp_path / "proximity", fitted)
    queries = clustered(60, seed=1)
    for other in (
        Proximity(**settings).fit(clustered(1200)),
        _store.read(tmp_path / "proximity", {"Proximity": Proximity}),
    ):
        np.testing.assert_array_equal(other.neighbors(queries).distances, fitted.neighbors(queries).distances)
        np.testing.assert_array_equal(other.neighbors(queries).indices, fitted.neighbors(queries).indices)


def shard_of(x, scale=None, dtype=torch.float16, work=1 << 26):
    scale = np.ones(len(x)) if scale is None else scale
    center = (scale[:, None] * x.astype(np.float64)).mean(axis=0)
    tensors = [torch.from_numpy(a) for a in (x, scale, center)]
    return _shard.Shard(torch, *tensors, dtype=dtype, work=work)


def difference_from_exact(shard, x, q, k=10):
    distances, _ = shard.nearest(torch.from_numpy(q), torch.ones(len(q), dtype=torch.float64), k)
    expected = Proximity(n_neighbors=k, normalize=False).fit(x).neighbors(q).distances
    return np.abs(distances.numpy() / expected - 1).max()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("tile", [300, 1 << 16])
def test_sixteen_bit_products_lose_no_neighbour_by_more_than_the_tolerance(monkeypatch, dtype, tile):
    monkeypatch.setattr(_shard, "_TILE", tile)
    x, q = clustered(2000, d=50), clustered(150, d=50, seed=1)
    assert difference_from_exact(shard_of(x, dtype=dtype), x, q) <= 2e-5


def test_what_sixteen_bits_cannot_tell_apart_is_searched_again():
    x, q = clustered(2000), clustered(150, seed=1)
    x[:1000] *= 0.01  # beside rows a hundred times longer
    q *= np.float32(0.01)
    shard = shard_of(x)
    assert difference_from_exact(shard, x, q) <= 2e-5
    assert shard.n_searched_again == len(q)


def test_few_queries_of_ordinary_features_are_searched_again():
    x, q = clustered(2000, d=100), clustered(150, d=100, seed=1)
    shard = shard_of(x)
    difference_from_exact(shard, x, q)
    assert shard.n_searched_again <= 3


def test_queries_far_outside_the_references_are_served():
    x = clustered(500)
    for factor in (1e4, 1e9):
        q = np.float32(factor) * clustered(30, seed=1)
        assert difference_from_exact(shard_of(x), x, q) <= 1e-4


@pytest.mark.parametrize("m", [1, 5, 20])
@pytest.mark.parametrize("n_columns", [20, 400, 1003])
def test_the_m_largest_keys_are_selected_once_each(m, n_columns):
    keys = torch.from_numpy(np.random.default_rng(m).integers(0, 50, size=(6, n_columns)).astype(np.float32))
    values, columns = _shard.largest(torch, keys, m)
    np.testing.assert_array_equal(values, keys.gather(1, columns))
    np.testing.assert_array_equal(values.sort(dim=1, descending=True)[0], keys.sort(dim=1, descending=True)[0][:, :m])
    assert all(len(set(row.tolist())) == m for row in columns)


def test_no_array_made_for_a_search_passes_the_memory_allowed():
    from torch.utils._python_dispatch import TorchDispatchMode

    class Largest(TorchDispatchMode):
        n_bytes = 0

        def __torch_dispatch__(self, function, types, arguments=(), named=None):
            result = function(*arguments, **(named or {}))
            if isinstance(result, torch.Tensor):
                Largest.n_bytes = max(Largest.n_bytes, result.nbytes)
            return result

    x = clustered(1200, d=32)
    shard = shard_of(x, work=1 << 18)
    queries, scale = torch.from_numpy(clustered(70, d=32, seed=1)), torch.ones(70, dtype=torch.float64)
    with Largest():
        shard.nearest(queries, scale, 10)
    assert Largest.n_bytes <= 1 << 18


def test_too_little_memory_is_an_error_with_what_is_needed():
    with pytest.raises(ValueError, match=r"device_memory is [0-9.e-]+ GiB; rows of 24 columns need \d"):
        Proximity(device="cpu", device_memory=1e-6).fit(clustered(300))


@pytest.mark.parametrize("device", ["cuda:99", "abacus"])
def test_a_device_that_is_not_there_is_named(device):
    with pytest.raises(ValueError, match=f"device has '{device}', which torch cannot use"):
        Proximity(device=device).fit(clustered(300))
