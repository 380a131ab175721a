"""Whether what comes in is still what was calibrated on: proximity and the gap over a rolling window, batch by batch.

A calibrator is right about samples like those it learned from. Proximity says, without labels, when others come: they
have less company among the references. Labels, once they are known, say whether confidence still holds. What is normal
are the references themselves, each left out of its own neighbours; `intervals.py` says what chance alone makes of a
window, and keeps false alarms rare over all looks together.
"""

import hashlib
import os
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from proxcal import _store
from proxcal._estimator import Estimator
from proxcal._validation import (
    Array,
    Bools,
    Floats,
    check_features,
    check_integer,
    check_labels,
    check_number,
    check_samples,
)
from proxcal.monitoring.intervals import gap_interval, percentile_interval, share_below_interval, spent
from proxcal.monitoring.record import Watched, WindowRecord
from proxcal.procal import _CLASSES, ProCal

N_WATCHED = 4  # figures that share what a look may spend
LOWEST = 0.05  # of normal samples: those whose proximity is low
FIFTH = 0.2
FEWEST = 100  # normal samples


class Monitor(Estimator):
    """A rolling window over the batches that a fitted `ProCal` sees.

    Parameters
    ----------
    window : so many samples, the last ones (and never less than the last batch).
    false_alarms : the chance that there ever is a false alarm, over all batches and all figures.
    tolerance : by how much confidences may be off before that is a gap: no calibrator is right to the last digit.
    n_normal : at most so many references, drawn at random, show what proximity is normal.
    random_state : draws them.

    Samples must come independently of each other and be others than the references. Nothing is said about a change
    that leaves proximity and accuracy as they were.
    """

    def __init__(
        self,
        *,
        window: int = 1000,
        false_alarms: float = 0.05,
        tolerance: float = 0.02,
        n_normal: int = 5000,
        random_state: int = 0,
    ) -> None:
        self.window = window
        self.false_alarms = false_alarms
        self.tolerance = tolerance
        self.n_normal = n_normal
        self.random_state = random_state

    def fit(self, calibrator: ProCal, features: ArrayLike | None = None) -> Self:
        """Begin, with an empty window. `features` are those of samples that show what is normal, if not the
        calibrator's references."""
        check_integer("window", self.window, at_least=1)
        check_integer("n_normal", self.n_normal, at_least=FEWEST)
        check_number("false_alarms", self.false_alarms, above=0, at_most=0.5)
        check_number("tolerance", self.tolerance, at_least=0, at_most=1)
        normal = self._watch(calibrator)._normal(features)
        if len(normal) < FEWEST:
            raise ValueError(f"{len(normal)} samples show what is normal; {FEWEST} or more are needed")
        self.normal_ = np.sort(normal)
        self.references_digest_ = _digest(calibrator)
        self.n_looks_ = 0
        self.log_proximity_, self.labelled_log_proximity_, self.confidence_ = np.empty((3, 0))
        self.correct_ = np.empty(0, dtype=np.bool_)
        return self

    def update(self, scores: ArrayLike, features: ArrayLike, labels: ArrayLike | None = None) -> WindowRecord:
        """Take a batch, with the labels if they are known, and look at the window."""
        check_is_fitted(self)
        log_proximity, confidence, correct = self._seen(scores, features, labels)
        self.n_looks_ += 1
        self.log_proximity_ = self._last(self.log_proximity_, log_proximity)
        if correct is not None:
            self.labelled_log_proximity_ = self._last(self.labelled_log_proximity_, log_proximity)
            self.confidence_ = self._last(self.confidence_, confidence)
            self.correct_ = self._last(self.correct_, correct)
        return self._look(labelled=correct is not None)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the window and what is normal to one file, for `load`; the calibrator has its own."""
        check_is_fitted(self)
        _store.write(path, self, overwrite=overwrite)

    @classmethod
    def load(cls, path: str | os.PathLike[str], calibrator: ProCal) -> Self:
        """The monitor that was saved, of the calibrator that it watched."""
        loaded: Self = _store.read(path, _CLASSES | {cls.__name__: cls}, cls)
        if loaded._watch(calibrator).references_digest_ != _digest(calibrator):
            raise ValueError(
                f"{path} was begun with other references than the calibrator's, so what is normal has changed; begin a"
                " new one"
            )
        return loaded

    def _watch(self, calibrator: ProCal) -> Self:
        check_is_fitted(calibrator)
        calibrator._search_kept("watch")
        self._calibrator = calibrator
        return self

    def _normal(self, features: ArrayLike | None) -> Floats:
        """Log proximity of normal samples."""
        search = self._calibrator.proximity_
        if features is not None:
            return search.log_score(check_features(features, n_columns=search.n_columns))
        compression = search.compression_ or {}
        if compression.get("n_references") and compression["coreset"] == "k-centre":
            raise ValueError(
                "features are missing: references chosen by k-centre lie farther from each other than samples do, so"
                " give features of samples that show what is normal"
            )
        return search.log_score_of_some(self.n_normal, self.random_state)

    def _seen(
        self, scores: ArrayLike, features: ArrayLike, labels: ArrayLike | None
    ) -> tuple[Floats, Floats, Bools | None]:
        """Log proximity, confidence and, where there are labels, whether each prediction is right."""
        calibrator = self._calibrator
        if calibrator.asked_for_ is not None:  # bare confidences, and whether each was right
            right = None if labels is None else check_samples(confidence=scores, correct=labels)[1]
            return calibrator.proximity_.log_score(features), calibrator.confidence(scores, features), right
        found = calibrator.calibrate(scores, check_features(features))
        y = None if labels is None else check_labels(labels, len(found.predicted), calibrator.n_classes_)
        return np.asarray(found.log_proximity), found.confidence, None if y is None else found.predicted == y

    def _last(self, values: Array, further: Array) -> Array:
        return np.concatenate([values, further])[-max(self.window, len(further)) :]

    def _look(self, labelled: bool) -> WindowRecord:
        alpha = spent(self.false_alarms, self.n_looks_) / N_WATCHED
        gap = low_gap = None
        if labelled:
            low = self.labelled_log_proximity_ < self._quantile(FIFTH)[0]
            gap, low_gap = self._gap(slice(None), alpha), self._gap(low, alpha) if low.any() else None
        return WindowRecord(
            look=self.n_looks_,
            n_samples=len(self.log_proximity_),
            n_labelled=len(self.correct_),
            log_proximity=float(self.log_proximity_.mean()),
            percentile=self._percentile(alpha),
            low_share=self._low_share(alpha),
            gap=gap,
            low_gap=low_gap,
        )

    def _percentile(self, alpha: float) -> Watched:
        below, upto = (np.searchsorted(self.normal_, self.log_proximity_, side=side) for side in ("left", "right"))
        n, m = len(self.log_proximity_), len(self.normal_)
        return Watched(float((below + upto).mean() / (2 * m)), *percentile_interval(n, m, alpha))

    def _low_share(self, alpha: float) -> Watched:
        limit, rank = self._quantile(LOWEST)
        interval = share_below_interval(len(self.log_proximity_), len(self.normal_), rank, alpha)
        n_low = int(np.count_nonzero(self.log_proximity_ < limit))
        return Watched(n_low / len(self.log_proximity_), *interval)

    def _gap(self, which: slice | Bools, alpha: float) -> Watched:
        confidence, correct = self.confidence_[which], self.correct_[which]
        value = float((correct.sum() - confidence.sum()) / len(correct))
        return Watched(value, *gap_interval(confidence, self.tolerance, alpha))

    def _quantile(self, share: float) -> tuple[float, int]:
        """The log proximity below which this share of normal samples lies, and its rank, from 1."""
        rank = max(1, round(share * len(self.normal_)))
        return float(self.normal_[rank - 1]), rank


def _digest(calibrator: ProCal) -> str:
    return hashlib.sha256(np.ascontiguousarray(calibrator.proximity_.half_square_).tobytes()).hexdigest()
