"""Which references to keep where all are too many.

"random" keeps what is dense dense: neighbours are farther off everywhere by about the same factor. "k-centre" (Gonzalez
1985) takes again and again the reference farthest from all taken: none of the others is far from one that is kept, but
the density, which proximity measures, is levelled.
"""

from typing import Literal

import numpy as np

from proxcal._validation import Ints, row_blocks
from proxcal.proximity.references import References, square_norms

Coreset = Literal["random", "k-centre"]
CORESETS: tuple[Coreset, ...] = ("random", "k-centre")


def choose(references: References, n_kept: int, coreset: Coreset, random_state: int) -> Ints:
    """Which references stay, ascending."""
    n = len(references.rows)
    order = np.random.default_rng(random_state).permutation(n)
    return np.sort(order[:n_kept] if coreset == "random" else _centres(references, n_kept, int(order[0])))


def _centres(references: References, n_kept: int, first: int) -> Ints:
    """In float32; costs n · n_kept · d."""
    rows = np.concatenate([references.moved(block) for block in row_blocks(*references.rows.shape)])
    norms = square_norms(rows)
    nearest = np.full(len(rows), np.inf, dtype=np.float32)
    chosen = np.empty(n_kept, dtype=np.intp)
    chosen[0] = first
    for i in range(n_kept):
        newest = chosen[i]
        np.minimum(nearest, norms - 2 * (rows @ rows[newest]) + norms[newest], out=nearest)
        nearest[newest] = -np.inf
        if i + 1 < n_kept:
            chosen[i + 1] = nearest.argmax()
    return chosen
