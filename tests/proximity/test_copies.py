import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from proxcal.proximity._copies import copies_before


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), min_size=1, max_size=40))
def test_identical_rows_are_counted_in_their_order(pairs):
    expected = [pairs[:i].count(pair) for i, pair in enumerate(pairs)]
    np.testing.assert_array_equal(copies_before(np.array(pairs, dtype=np.float32)), expected)


def test_rows_of_one_product_that_differ_are_no_copies(monkeypatch):
    rows = np.random.default_rng(0).normal(size=(50, 3))
    monkeypatch.setattr("proxcal.proximity._copies.dots", lambda rows, _: np.zeros(len(rows)))
    np.testing.assert_array_equal(copies_before(rows), 0)
