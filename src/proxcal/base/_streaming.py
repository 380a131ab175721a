"""Base calibrators that learn from batches: what they keep of a batch is sums, so memory does not grow with samples."""

from abc import abstractmethod
from typing import ClassVar, Self

from numpy.typing import ArrayLike

from proxcal._validation import Array, Ints, check_labels, check_scores
from proxcal.base._calibrator import BaseCalibrator


class StreamingCalibrator(BaseCalibrator):
    """`partial_fit` beside `fit`. `sums` names the attributes that batches are added to."""

    sums: ClassVar[tuple[str, ...]]

    def partial_fit(self, scores: ArrayLike, y: ArrayLike) -> Self:
        """Learn from one batch more. The first sets the number of classes: a class is a column of the scores, whether
        or not a batch has samples of it."""
        begun = self.__sklearn_is_fitted__()
        scores = check_scores(scores, self.input, n_classes=self.n_classes_ if begun else None)
        labels = check_labels(y, *scores.shape, name="y")
        if not begun:
            self.n_classes_ = scores.shape[1]
            self._begin(scores, labels)
        elif not all(hasattr(self, name) for name in self.sums):
            raise ValueError(
                f"{type(self).__name__} was fitted by fit, which kept no sums to add a batch to; begin with partial_fit"
            )
        self._extend(scores, labels)
        return self

    @abstractmethod
    def _begin(self, scores: Array, labels: Ints) -> None:
        """Set what the first batch decides, and empty sums."""

    @abstractmethod
    def _extend(self, scores: Array, labels: Ints) -> None:
        """Add a batch to the sums, and learn from them anew."""
