"""Fewer columns by principal components, with what they leave out kept as energy.

Of a row x, moved by the mean, y are its m leading components and r the square norm of the rest. Distances in y alone
are too short. The rests of two rows are known by their lengths only, so their cosine is taken to be that found between
references and their nearest, ρ:

    ‖a − b‖² ≈ ‖y_a − y_b‖² + r_a + r_b − 2ρ √(r_a r_b)
             = ‖y_a − y_b‖² + ρ (√r_a − √r_b)² + (1 − ρ) r_a + (1 − ρ) r_b

which is itself a squared distance, of rows with three columns more: √(ρ r), and √((1 − ρ) r) in one place for
references and in another for whoever is looked up. So every search works on reduced rows as on any others.
"""

from typing import Self

import numpy as np
from scipy.linalg import eigh

from proxcal._estimator import Estimator
from proxcal._validation import Array, Floats, Ints, row_blocks
from proxcal.proximity.references import Neighbors, References, scaled, square_norms

_ROWS = 20_000  # from which the components are learned
_MORE = 3  # columns beside the components


class Reduction(Estimator):
    """Rows to reduced rows. Learns `mean_` (d,), `axes_` (d, m) and `cosine_` (ρ)."""

    mean_: Floats
    axes_: Floats
    cosine_: float

    def __init__(self, *, n_components: int = 64) -> None:
        self.n_components = n_components

    def fit(self, references: References, sample: Ints, neighbors: Neighbors) -> Self:
        """`neighbors` are those of the references `sample` among the references."""
        n, d = references.rows.shape
        self.mean_ = references.center
        second_moment = np.zeros((d, d))
        chosen = np.arange(0, n, -(-n // _ROWS))
        for block in row_blocks(len(chosen), d):
            moved = self._moved(references.rows[chosen[block]], references.scale[chosen[block]])
            second_moment += moved.T @ moved
        leading = eigh(second_moment, subset_by_index=[d - self.n_components, d - 1])[1]
        self.axes_ = np.ascontiguousarray(leading[:, ::-1])
        self.cosine_ = self._residual_cosine(references, sample, neighbors)
        return self

    @property
    def n_columns(self) -> int:
        """Of reduced rows."""
        return int(self.axes_.shape[1]) + _MORE

    def references(self, rows: Array, scale: Floats) -> Floats:
        """(n, m + 3) of scale · rows as references."""
        return self._reduced(rows, scale, own=-2)

    def queries(self, rows: Array, scale: Floats) -> Floats:
        """The same of rows to be looked up."""
        return self._reduced(rows, scale, own=-1)

    def _reduced(self, rows: Array, scale: Floats, own: int) -> Floats:
        reduced = np.zeros((len(rows), self.n_columns))
        for block in row_blocks(*rows.shape):
            components, rest = self._parts(rows[block], scale[block])
            reduced[block, :-_MORE] = components
            reduced[block, -_MORE] = np.sqrt(self.cosine_ * rest)
            reduced[block, own] = np.sqrt((1 - self.cosine_) * rest)
        return reduced

    def _parts(self, rows: Array, scale: Floats) -> tuple[Floats, Floats]:
        """Components y and rest r."""
        moved = self._moved(rows, scale)
        components = moved @ self.axes_
        return components, np.maximum(square_norms(moved) - square_norms(components), 0)

    def _moved(self, rows: Array, scale: Floats) -> Floats:
        return scaled(rows, scale) - self.mean_

    def _residual_cosine(self, references: References, sample: Ints, neighbors: Neighbors) -> float:
        """Σ (r_a + r_b − d² + ‖y_a − y_b‖²) / Σ 2 √(r_a r_b) over the sample and its neighbours."""
        points, rests = self._parts(references.rows[sample], references.scale[sample])
        over = under = 0.0
        for column, distance in zip(neighbors.indices.T, neighbors.distances.T, strict=True):
            others, other_rests = self._parts(references.rows[column], references.scale[column])
            over += float((rests + other_rests - distance**2 + square_norms(points - others)).sum())
            under += float(2 * np.sqrt(rests * other_rests).sum())
        return float(np.clip(over / under, 0, 1)) if under > 0 else 0.0


def as_queries(reduced: Array) -> Array:
    """Reduced references as rows to be looked up."""
    swapped = reduced.copy()
    swapped[:, [-2, -1]] = reduced[:, [-1, -2]]
    return swapped
