import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxcal.base._votes import N_REMEMBERED, PRIOR, References, columns, counted, touched
from proxcal.proximity import Neighbors


def drawn(seed, n=7, n_references=60, n_classes=6, k=50):
    """Samples' neighbours, as a search gives them, and references with a label and a row each."""
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.full(n_classes, 0.3), n_references)
    indices = np.array([rng.permutation(n_references)[:k] for _ in range(n)])
    distances = np.sort(rng.exponential(size=(n, k)), axis=1)
    labels = rng.integers(n_classes, size=n_references)
    return Neighbors(distances, indices), References.of(labels, rows)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([2, 6, 19, 20, 21, 45]), st.sampled_from([1, 9, 10, 11, 50, 59]))
def test_votes_are_counts_written_slowly(seed, n_classes, k):
    neighbors, references = drawn(seed, n_classes=n_classes, k=k)
    slow = np.zeros((4, 7, n_classes))
    for i in range(7):
        for rank, (j, d) in enumerate(zip(neighbors.indices[i][:50], neighbors.distances[i][:50], strict=True)):
            slow[0, i, references.labels[j]] += np.exp(-((d / 0.7) ** 2)) * (rank < 10)
            slow[1, i, references.labels[j]] += np.exp(-((d / 0.7) ** 2))
            slow[2, i, references.labels[j]] += np.exp(-((2 * d / 0.7) ** 2))
            for c, p in zip(references.classes[j], references.probs[j], strict=True):
                slow[3, i, c] += np.exp(-((d / 0.7) ** 2)) * p
    np.testing.assert_allclose(counted(neighbors, references, 0.7, n_classes), slow.reshape(4, -1), rtol=1e-9)


def test_only_places_without_any_vote_are_left_out():
    neighbors, references = drawn(0, n_classes=200, n_references=400, k=3)
    counts = counted(neighbors, references, 0.7, 200)
    places = touched(counts)
    assert 0 < len(places) < 7 * 200 / 2
    logs = np.log(np.array(counts) + PRIOR) - np.log(PRIOR)
    np.testing.assert_allclose(columns(counts, places), logs[:, places], atol=1e-12)
    assert not np.delete(logs, places, axis=1).any()


def test_the_order_of_equally_near_references_does_not_matter():
    neighbors, references = drawn(0, n_references=50)
    turned = np.random.default_rng(1).permutation(50)
    others = Neighbors(neighbors.distances, np.argsort(turned)[neighbors.indices])
    np.testing.assert_allclose(
        counted(others, references.take(turned), 0.7, 6), counted(neighbors, references, 0.7, 6), rtol=1e-12
    )


@pytest.mark.parametrize("n_classes", [2, N_REMEMBERED, N_REMEMBERED + 1, 300])
def test_the_largest_probabilities_are_remembered(n_classes):
    rows = np.random.default_rng(0).dirichlet(np.full(n_classes, 0.1), 9)
    references = References.of(np.zeros(9, dtype=int), rows)
    largest = -np.sort(-rows, axis=1)[:, :N_REMEMBERED]
    np.testing.assert_allclose(-np.sort(-references.probs, axis=1), largest, rtol=1e-6)
    np.testing.assert_allclose(references.probs, np.take_along_axis(rows, references.classes.astype(int), 1), rtol=1e-6)


def test_what_is_remembered_of_a_thousand_classes_is_small():
    references = References.of(np.arange(500) % 1000, np.random.default_rng(0).dirichlet(np.ones(1000), 500))
    size = sum(a.nbytes for a in (references.labels, references.classes, references.probs))
    assert size * 25_000 / 500 <= 4 << 20


def test_parts_joined_are_the_whole():
    _, whole = drawn(0)
    joined = References.joined([whole.take(np.arange(20)), whole.take(np.arange(20, 60))])
    for name in ("labels", "classes", "probs"):
        np.testing.assert_array_equal(getattr(joined, name), getattr(whole, name))


def test_references_that_all_lie_at_the_sample_vote_in_full():
    neighbors, references = drawn(0)
    here = Neighbors(np.zeros_like(neighbors.distances), neighbors.indices)
    _, fifty, close, expected = counted(here, references, 0.0, 6)
    np.testing.assert_array_equal(close, fifty)
    assert expected.sum() == pytest.approx(7 * 50)
