import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from proxcal.proximity._selection import leave_out, marked, smallest, smallest_of

COUNTS, RANDOMS = st.integers(1, 60), st.randoms(use_true_random=False)


def simulated_keys(m, n, ties):
    return np.random.default_rng(m).integers(0, 10 ** (ties + 1), size=(m, n)).astype(np.float32)


@settings(max_examples=25, deadline=None)
@given(COUNTS, st.integers(0, 5), RANDOMS)
def test_the_k_smallest_keys_are_selected(k, ties, random):
    keys = simulated_keys(random.randint(max(k, 2), 400), 5, ties)
    chosen = np.take_along_axis(keys, smallest(keys, k).T, axis=0)
    np.testing.assert_array_equal(np.sort(chosen, axis=0), np.sort(keys, axis=0)[:k])


def test_references_are_selected_once_each():
    chosen = smallest(np.zeros((500, 3), dtype=np.float32), 20)
    assert all(len(set(row)) == 20 for row in chosen)


@settings(max_examples=25, deadline=None)
@given(COUNTS, st.integers(0, 5), RANDOMS)
def test_of_tiles_the_k_smallest_of_all_are_left(k, ties, random):
    m = random.randint(k + 1, 400)
    keys = simulated_keys(m, 5, ties)
    own = np.arange(5) % m
    size = random.randint(1, m)
    tiles = ((slice(start, min(start + size, m)), keys[start : start + size].copy()) for start in range(0, m, size))
    found, references = smallest_of(tiles, k, own)
    others = keys.copy()
    others[own, np.arange(5)] = np.inf
    np.testing.assert_array_equal(np.sort(found, axis=1), np.sort(others, axis=0)[:k].T)
    np.testing.assert_array_equal(found, others[references, np.arange(5)[:, None]])


def test_only_its_own_key_is_left_out_of_a_query():
    keys = np.zeros((3, 4))
    leave_out(np.array([2, 11, 12, 13]), slice(10, 13), keys)
    assert np.argwhere(np.isinf(keys)).tolist() == [[1, 1], [2, 2]]


def test_references_marked_stand_in_the_row_of_their_query():
    mask = np.array([[1, 0, 1], [0, 0, 1], [1, 0, 0]], dtype=bool)
    assert marked(mask).tolist() == [[0, 2], [-1, -1], [0, 1]]
