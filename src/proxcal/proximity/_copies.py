"""References that are the same row again: of a heap of copies only the first few can be among the k nearest, for equal
distances rank by index."""

import numpy as np

from proxcal._validation import Array, Floats, Ints, row_blocks
from proxcal.proximity.references import dots, in_float64

_SEED = 1234


def copies_before(rows: Array) -> Ints:
    """How many identical rows come before each row; where that is costly to know, fewer.

    Identical rows have identical products with one random vector, so they lie side by side in its order; rows that
    meet there by chance are told apart by comparing each with the one before it.
    """
    n, d = rows.shape
    direction = np.random.default_rng(_SEED).normal(size=(d,))
    along: Floats = np.concatenate([dots(in_float64(rows[block]), direction) for block in row_blocks(n, d)])
    order = np.argsort(along, kind="stable")
    same = np.zeros(n, dtype=np.bool_)  # as the one before it in the order
    same[1:] = along[order[1:]] == along[order[:-1]]
    places = np.flatnonzero(same)
    for block in row_blocks(len(places), d):
        at = places[block]
        same[at] = (rows[order[at]] == rows[order[at - 1]]).all(axis=1)
    firsts = np.maximum.accumulate(np.where(same, 0, np.arange(n)))
    before = np.empty(n, dtype=np.intp)
    before[order] = np.arange(n) - firsts
    return before
