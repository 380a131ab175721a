"""Compressed references against the formulas, and against the search they came from."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from proxcal import _store
from proxcal.proximity import Proximity
from proxcal.proximity._reduction import Reduction
from proxcal.proximity.compression import Compression


def rows(n=400, d=24, seed=0):
    """Most of the spread lies in few directions, as in a network's features."""
    rng = np.random.default_rng(seed)
    axes = np.linalg.qr(np.random.default_rng(99).normal(size=(d, d)))[0]
    return (rng.normal(size=(n, d)) * 0.7 ** np.arange(d)) @ axes + 1


X, Q = rows(), rows(60, seed=1)


def unit(x):
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def distances_by_the_formula(queries, references, reduction):
    """‖y_a − y_b‖² + r_a + r_b − 2ρ √(r_a r_b), written out."""
    (y_a, r_a), (y_b, r_b) = (
        (moved @ reduction.axes_, np.sum((moved - moved @ reduction.axes_ @ reduction.axes_.T) ** 2, axis=1))
        for moved in (queries - reduction.mean_, references - reduction.mean_)
    )
    between = np.sum((y_a[:, None] - y_b) ** 2, axis=2)
    return np.sqrt(between + r_a[:, None] + r_b - 2 * reduction.cosine_ * np.sqrt(r_a[:, None] * r_b))


@pytest.mark.parametrize("normalize", [True, False])
def test_distances_of_reduced_rows_are_the_formula(normalize):
    small = Proximity(normalize=normalize).fit(X).compress(dtype="float32", n_components=6)
    prepare = unit if normalize else np.asarray
    expected = np.sort(distances_by_the_formula(prepare(Q), prepare(X), small.reduction_), axis=1)[:, :10]
    np.testing.assert_allclose(small.neighbors(Q).distances, expected, rtol=1e-5)


def test_distances_of_reduced_references_among_themselves_are_the_formula():
    small = Proximity().fit(X).compress(dtype="float32", n_components=6)
    expected = distances_by_the_formula(unit(X), unit(X), small.reduction_)
    np.fill_diagonal(expected, np.inf)
    np.testing.assert_allclose(small.neighbors().distances, np.sort(expected, axis=1)[:, :10], rtol=1e-5)


def test_axes_are_the_leading_principal_components():
    axes = Proximity(normalize=False).fit(X).compress(n_components=3).reduction_.axes_
    leading = np.linalg.svd(X - X.mean(axis=0))[2][:3].T
    np.testing.assert_allclose(np.abs(np.sum(axes * leading, axis=0)), 1, rtol=1e-9)


def test_all_components_lose_nothing():
    whole = Proximity().fit(X)
    small = whole.compress(dtype="float32", n_components=24)
    np.testing.assert_allclose(small.log_score(Q), whole.log_score(Q), rtol=1e-5)


def test_the_length_of_what_components_leave_out_makes_proximity_truer():
    whole = Proximity().fit(X)
    small = whole.compress(n_components=6)
    axes, mean = small.reduction_.axes_, small.reduction_.mean_
    bare = Proximity(normalize=False).fit((unit(X) - mean) @ axes).log_score((unit(Q) - mean) @ axes)
    assert np.abs(small.log_score(Q) - whole.log_score(Q)).mean() < np.abs(bare - whole.log_score(Q)).mean() / 2


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("size", [1e-6, 1, 1e6])
def test_float16_takes_half_the_memory_of_float32_and_keeps_proximity(size, normalize, metric):
    whole = Proximity(normalize=normalize, metric=metric).fit(size * X.astype(np.float32))
    small = whole.compress()
    assert small.references_.nbytes == whole.references_.nbytes / 2
    np.testing.assert_allclose(small.log_score(size * Q), whole.log_score(size * Q), rtol=5e-3)
    np.testing.assert_allclose(small.log_score(), whole.log_score(), rtol=5e-3)


def test_float16_of_float16_changes_no_bit():
    whole = Proximity().fit(X.astype(np.float16))
    np.testing.assert_array_equal(whole.compress().log_score(Q), whole.log_score(Q))


@pytest.mark.parametrize("coreset", ["random", "k-centre"])
def test_a_coreset_is_a_search_among_those_kept(coreset):
    small, kept = kept_of(Proximity().fit(X), coreset=coreset)
    assert len(set(kept)) == 50
    np.testing.assert_array_equal(small.log_score(Q), Proximity().fit(X[kept]).log_score(Q))


def test_k_centre_takes_again_and_again_the_farthest():
    _, kept = kept_of(Proximity(normalize=False).fit(X), coreset="k-centre")
    first = np.random.default_rng(0).permutation(len(X))[0]
    slowly = [int(first)]
    while len(slowly) < 50:
        slowly.append(int(np.linalg.norm(X[:, None] - X[slowly], axis=2).min(axis=1).argmax()))
    np.testing.assert_array_equal(kept, np.sort(slowly))


def test_k_centre_of_equal_rows_takes_each_once():
    _, kept = kept_of(Proximity().fit(np.ones((60, 3))), coreset="k-centre")
    assert len(set(kept)) == 50


def kept_of(whole, **settings):
    chosen = {"dtype": None, "n_components": None, "n_references": 50, "coreset": "random", "random_state": 0}
    return whole.compressed(Compression(**chosen | settings))


@pytest.mark.parametrize("reduced", [None, 6])
def test_neighbors_of_all_references_among_those_kept_leave_each_out(reduced):
    whole = Proximity().fit(X)
    small, kept = kept_of(whole, dtype="float32", n_components=reduced)
    own = np.full(len(X), -1)
    own[kept] = np.arange(len(kept))
    found = small.neighbors_of(whole, own, 5)
    near = small.neighbors(X, 6)
    for i in range(len(X)):
        expected = [j for j in near.indices[i] if kept[j] != i][:5]
        assert list(found.indices[i]) == expected


def test_random_coresets_keep_the_order_of_proximity_better_than_k_centre():
    whole = Proximity().fit(rows(2000))
    orders = {
        coreset: spearmanr(whole.log_score(Q), whole.compress(n_references=300, coreset=coreset).log_score(Q)).statistic
        for coreset in ("random", "k-centre")
    }
    assert orders["random"] > 0.8 > orders["k-centre"]


@pytest.mark.parametrize(
    "settings", [{}, {"n_components": 5}, {"n_references": 40}, {"n_components": 5, "n_references": 40}]
)
def test_it_is_saved_and_loaded_bit_for_bit(settings, tmp_path):
    small = Proximity().fit(X).compress(**settings)
    _store.write(tmp_path / "small.proxcal", small)
    back = _store.read(tmp_path / "small.proxcal", {"Proximity": Proximity, "Reduction": Reduction})
    np.testing.assert_array_equal(back.log_score(Q), small.log_score(Q))
    np.testing.assert_array_equal(back.log_score(), small.log_score())


@pytest.mark.parametrize("settings", [{}, {"n_components": 5}, {"dtype": "float32"}, {"dtype": None}])
@pytest.mark.parametrize("normalize", [True, False])
def test_further_references_take_the_same_form(settings, normalize):
    small = Proximity(normalize=normalize).fit(X).compress(**settings)
    grown, further = small.extended(rows(30, seed=5)), rows(30, seed=5)
    assert grown.references_.dtype == small.references_.dtype
    np.testing.assert_array_equal(grown.references_[: len(X)], small.references_)
    expected = Proximity(normalize=normalize).fit(np.concatenate([X, further])).log_score(Q)
    np.testing.assert_allclose(grown.log_score(Q), expected, rtol=0.1)
    assert len(grown.references_) == 430


def test_further_references_too_long_for_float16_are_refused():
    small = Proximity(normalize=False).fit(X).compress()
    with pytest.raises(ValueError, match="too long for references kept in float16"):
        small.extended(1e6 * rows(5))


def test_what_is_compressed_stays_as_it_was():
    whole = Proximity().fit(X)
    before = whole.log_score(Q), whole.references_.copy()
    whole.compress(n_components=4, n_references=40)
    np.testing.assert_array_equal(whole.log_score(Q), before[0])
    np.testing.assert_array_equal(whole.references_, before[1])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"dtype": "int8"}, "dtype must be one of 'float16', 'float32', None; got 'int8'"),
        ({"n_components": 25}, "n_components is 25; the references have 24 columns"),
        ({"n_components": 0}, "n_components must be a whole number of at least 1"),
        ({"n_references": 401}, "n_references is 401; there are 400 to choose from"),
        ({"n_references": 10}, "n_references must be a whole number of at least 11; got 10"),
        ({"coreset": "best"}, "coreset must be one of 'random', 'k-centre'; got 'best'"),
    ],
)
def test_a_wrong_argument_is_named(settings, message):
    with pytest.raises(ValueError, match=message):
        Proximity().fit(X).compress(**settings)


def test_reduced_references_are_not_compressed_again():
    with pytest.raises(ValueError, match="reduced to 5 components already"):
        Proximity().fit(X).compress(n_components=5).compress()


def test_other_columns_than_at_fit_are_refused():
    with pytest.raises(ValueError, match="features has 8 columns; the reference set has 24"):
        Proximity().fit(X).compress(n_components=5).score(Q[:, :8])


def test_constant_features_are_reduced():
    same = np.ones((50, 4))
    np.testing.assert_array_equal(Proximity().fit(same).compress(n_components=2).log_score(), 0)
