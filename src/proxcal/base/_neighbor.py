"""What the bases share that see a sample's nearest references beside its scores.

Within `ProCal`, whose one search serves all, they are handed the neighbours found (`fit_with`, `blocks`). Alone they
hold a search of their own: `fit(scores, y, features)` and `predict_proba(scores, features)`, the calibration samples
being the references and none of them its own neighbour. Either way a subclass says how many neighbours it wants to see
(`n_searched`), how to learn (`_fit_near`) and how to turn a block of rows into probabilities (`_rows_near`), and, where
it keeps something of each reference, how to take more of them (`remember`).
"""

from abc import abstractmethod
from typing import Self

from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from proxcal._validation import Array, Floats, Ints, blocks_of, check_features, check_labels, check_scores
from proxcal.base._calibrator import BaseCalibrator, Blocks, joined
from proxcal.proximity import Neighbors, Proximity


class NeighborCalibrator(BaseCalibrator):
    """Scores and neighbours to calibrated rows. `proximity` is the search of its own (None: `Proximity()`).

    Where there are fewer references than the neighbours wanted, all of them are seen. Learns, when fitted alone,
    `proximity_`.
    """

    proximity: Proximity | None

    def fit(self, scores: ArrayLike, y: ArrayLike, features: ArrayLike | None = None) -> Self:
        scores = check_scores(scores, self.input)
        labels = check_labels(y, *scores.shape, name="y")
        rows = check_features(features, n_samples=len(labels))
        k = max(1, min(self.n_searched, len(labels) - 1))
        search = Proximity() if self.proximity is None else clone(self.proximity)
        search.set_params(n_neighbors=k).fit(rows)
        self.fit_with(scores, labels, search.neighbors())
        self.proximity_ = search
        return self

    def fit_with(self, scores: Array, labels: Ints, neighbors: Neighbors | None = None) -> Self:
        """Fit on checked arrays and the neighbours of each sample among the others."""
        self.n_classes_ = scores.shape[1]
        self._fit_near(scores, labels, _given(neighbors))
        return self

    def predict_proba(self, scores: ArrayLike, features: ArrayLike | None = None) -> Floats:
        check_is_fitted(self)
        scores = check_scores(scores, self.input, n_classes=self.n_classes_)
        return joined(self.blocks(scores, self._search(features, len(scores))), scores.shape)

    def predict(self, scores: ArrayLike, features: ArrayLike | None = None) -> Ints:
        predicted: Ints = self.predict_proba(scores, features).argmax(axis=1)
        return predicted

    def blocks(self, scores: Array, neighbors: Neighbors | None = None) -> Blocks:
        near = _given(neighbors)
        for block in blocks_of(scores):
            yield block, self._rows_near(scores[block], near.take(block))

    def add_references(self, features: ArrayLike, y: ArrayLike, scores: ArrayLike) -> Self:
        """Take labelled samples as further references; what was learned from the first ones stays as it is."""
        search = self._own_search()
        scores = check_scores(scores, self.input, n_classes=self.n_classes_)
        labels = check_labels(y, *scores.shape, name="y")
        rows = check_features(features, n_samples=len(labels), n_columns=search.n_columns)
        self.proximity_ = search.extended(rows)
        self.remember(scores, labels)
        return self

    def _search(self, features: ArrayLike | None, n_samples: int) -> Neighbors:
        search = self._own_search()
        rows = check_features(features, n_samples=n_samples, n_columns=search.n_columns)
        return search.neighbors(rows, min(self.n_searched, search.n_references - 1))

    def _own_search(self) -> Proximity:
        check_is_fitted(self)
        if not hasattr(self, "proximity_"):
            raise ValueError(
                f"features cannot be searched: this {type(self).__name__} was fitted within a ProCal, which holds the"
                " references; use that ProCal's methods"
            )
        return self.proximity_

    @abstractmethod
    def _fit_near(self, scores: Array, labels: Ints, neighbors: Neighbors) -> None: ...

    @abstractmethod
    def _rows_near(self, scores: Array, neighbors: Neighbors) -> Floats: ...

    def _fit(self, scores: Array, labels: Ints) -> None:
        self._fit_near(scores, labels, _given(None))

    def _rows(self, scores: Array) -> Floats:
        return self._rows_near(scores, _given(None))


def _given(neighbors: Neighbors | None) -> Neighbors:
    if neighbors is None:
        raise ValueError("features is missing: this base sees each sample's neighbours beside its scores")
    return neighbors
