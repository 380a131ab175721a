"""The k smallest keys of each query, among tiles of references that come one after the other.

Keys lie references × queries: products are faster that way round than the other, and what is asked of each reference's
row (its minimum with other rows, whether it is below each query's limit) runs along memory.
"""

from collections.abc import Iterator

import numpy as np

from proxcal._validation import Array, Bools, Ints

_MANY = 8  # times k: sorting out more of them costs more than selecting the k smallest of a tile

Tiles = Iterator[tuple[slice, Array]]  # references, and their keys for each query, until the next tile


def smallest_of(tiles: Tiles, k: int, own: Ints | None) -> tuple[Array, Ints]:
    """The k smallest keys of each query (a row) and whose they are, in no order; its own key does not count."""
    best_keys: Array = np.empty(0)
    best: Ints = np.empty(0, dtype=np.intp)
    for tile, keys in tiles:
        leave_out(own, tile, keys)
        n = keys.shape[1]
        some = smallest(keys, k) if best_keys.size < k * n else _smaller(keys, best_keys.max(axis=1), k)
        some_keys = keys[some, np.arange(n)[:, None]]
        if not best.size:
            best_keys, best = some_keys, some + tile.start
            continue
        some_keys[some < 0] = np.inf
        best_keys = np.concatenate([best_keys, some_keys], axis=1)
        best = np.concatenate([best, some + tile.start], axis=1)
        if best.shape[1] > k:
            kept = np.argpartition(best_keys, k - 1, axis=1)[:, :k]
            best_keys, best = np.take_along_axis(best_keys, kept, axis=1), np.take_along_axis(best, kept, axis=1)
    return best_keys, best


def ranked(keys: Array, found: Ints) -> tuple[Array, Ints]:
    order = np.argsort(keys, axis=1)
    return np.take_along_axis(keys, order, axis=1), np.take_along_axis(found, order, axis=1)


def leave_out(own: Ints | None, tile: slice, keys: Array) -> None:
    if own is not None:
        inside = np.flatnonzero((own >= tile.start) & (own < tile.stop))
        keys[own[inside] - tile.start, inside] = np.inf


def marked(mask: Bools) -> Ints:
    """The references marked for each query, a row a query, and −1 where other queries have more."""
    n = mask.shape[1]
    reference, query = np.divmod(np.flatnonzero(mask), n)
    count = np.bincount(query, minlength=n)
    order = np.argsort(query, kind="stable")
    place = np.arange(len(order)) - np.repeat(np.cumsum(count) - count, count)
    references = np.full((n, count.max()), -1)
    references[query[order], place] = reference[order]
    return references


def _smaller(keys: Array, limit: Array, k: int) -> Ints:
    """References with keys under each query's limit, −1 where other queries have more; of the k smallest if one query
    has very many.

    The more references were seen, the fewer come nearer: most tiles need no more than this comparison.
    """
    references = marked(keys < limit)
    return references if references.shape[1] <= _MANY * k else smallest(keys, k)


def smallest(keys: Array, k: int) -> Ints:
    """References with the k smallest keys of each query, in no order.

    References are dealt into groups; the k groups with the smallest minima hold the k smallest keys. So all keys are
    read once, by a minimum that runs at memory speed, and only √(mk) of m are ever partitioned.
    """
    m, n = keys.shape
    size = int(np.sqrt(m / k))
    n_groups = m // max(size, 1)
    if size < 2:
        return np.argpartition(keys.T, k - 1, axis=1)[:, :k] if k < m else np.tile(np.arange(m), (n, 1))
    minima = keys[: size * n_groups].reshape(size, n_groups, n).min(axis=0)
    groups = np.argpartition(minima.T, k - 1, axis=1)[:, :k]
    members = (groups[:, :, None] + np.arange(size) * n_groups).reshape(n, -1)
    rest = np.arange(size * n_groups, m)  # what the deal left over
    members = np.concatenate([members, np.broadcast_to(rest, (n, len(rest)))], axis=1)
    chosen = np.argpartition(keys[members, np.arange(n)[:, None]], k - 1, axis=1)[:, :k]
    return np.take_along_axis(members, chosen, axis=1)
