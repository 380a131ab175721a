"""Neighbour-aware parameterized temperature scaling (the paper's PTSK): a temperature for every row, from its ten
largest logits and how far its K nearest references are.

    p = softmax(z / T(z, d₁ … d_K))

The network of parameterized temperature scaling (`_row_temperature.py`) with K more inputs. Distances enter as
logarithms, so that their scale changes nothing; a distance of (nearly) 0 counts as a thousandth of the median.
"""

import numpy as np

from proxcal._validation import Array, Floats, Input, Ints, check_integer
from proxcal.base._loss_curves import Loss
from proxcal.base._neighbor import NeighborCalibrator
from proxcal.base._row_temperature import RowTemperature
from proxcal.proximity import Neighbors, Proximity

_NEAREST = 1e-3  # of the median distance


class NeighborTemperatureScaling(RowTemperature, NeighborCalibrator):
    """A temperature for every row by `loss`, "log" or "brier", that sees `n_neighbors` distances. Order-preserving.

    `proximity` is the search it uses alone; within `ProCal` it is handed the neighbours that one search found.
    Learns what `ParameterizedTemperatureScaling` does, `nearest_`, the least distance that counts, and `n_seen_`, how
    many distances it sees: fewer than `n_neighbors` where there are not so many references. Where every label is right
    it is plain temperature scaling.

    Far from the references the logits are twice too large:

    >>> rng = np.random.default_rng(0)
    >>> features = rng.normal(size=(4000, 2)) * np.where(np.arange(4000) % 2, 1, 20)[:, None]
    >>> far = np.abs(features).max(axis=1) > 4
    >>> logits = 3 * rng.normal(size=(4000, 10))
    >>> labels = (logits / np.where(far, 2, 1)[:, None] + rng.gumbel(size=logits.shape)).argmax(axis=1)
    >>> search = Proximity(normalize=False)
    >>> calibrator = NeighborTemperatureScaling(proximity=search).fit(logits, labels, features)
    >>> print(f"{calibrator.plain_loss_:.2f} -> {calibrator.loss_:.2f}")
    1.32 -> 1.26
    """

    def __init__(
        self,
        *,
        n_neighbors: int = 10,
        loss: Loss = "log",
        random_state: int | None = 0,
        proximity: Proximity | None = None,
        input: Input = "logits",
    ) -> None:
        self.n_neighbors = n_neighbors
        self.loss = loss
        self.random_state = random_state
        self.proximity = proximity
        self.input = input

    @property
    def n_searched(self) -> int:
        return check_integer("n_neighbors", self.n_neighbors, at_least=1)

    def _fit_near(self, scores: Array, labels: Ints, neighbors: Neighbors) -> None:
        distances = neighbors.nearest(self.n_neighbors).distances
        self.n_seen_ = distances.shape[1]
        self.nearest_ = max(_NEAREST * float(np.median(distances)), float(np.finfo(np.float64).tiny))
        self._learn(scores, labels, self._log_distances(neighbors))

    def _rows_near(self, scores: Array, neighbors: Neighbors) -> Floats:
        return self._tempered(scores, self._log_distances(neighbors))

    def _log_distances(self, neighbors: Neighbors) -> Floats:
        logarithms: Floats = np.log(np.maximum(neighbors.nearest(self.n_seen_).distances, self.nearest_))
        return logarithms
