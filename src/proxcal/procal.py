"""ProCal: base calibrator, proximity and informed calibrator, fitted together and applied together (the paper's
section 5).

    base        scores               -> rows, and the top's confidence
    proximity   features             -> neighbours among the calibration samples
    informed    confidence, both     -> the confidence that holds at every proximity
    rows        rows and confidence  -> whole rows, the ranking kept

A calibration sample is left out of its own neighbours, so what is learned on them holds for samples never seen.
"""

import os
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from proxcal import _store
from proxcal._estimator import Estimator
from proxcal._reference_set import ReferenceSet, n_searched
from proxcal._validation import (
    Array,
    Bools,
    Floats,
    Input,
    Ints,
    check_choice,
    check_features,
    check_samples,
    check_scores,
    row_blocks,
)
from proxcal.base import (
    BASES,
    BaseCalibrator,
    ForeignCalibrator,
    HistogramBinning,
    IsotonicRegression,
    MultiIsotonicRegression,
    make_base,
)
from proxcal.base._bare import NO_ROWS, RIGHT, check_labelled, nothing_predicted, rows_of
from proxcal.base._calibrator import stored
from proxcal.base._cross_fitting import held_out_blocks
from proxcal.base._top import Top
from proxcal.base.selection import select_base
from proxcal.informed import INFORMED, Chain, NormalScores, make_informed, select, takes_evidence
from proxcal.informed.selection import MIN_SAMPLES
from proxcal.proximity import Neighbors, Proximity, log_proximity
from proxcal.proximity._reduction import Reduction
from proxcal.proximity.backends import Index
from proxcal.proximity.proximity import Metric
from proxcal.rows import MODES, Calibrated, Mode, fit_exponent, rebuild

DISCRETE_BASES = (HistogramBinning, IsotonicRegression, MultiIsotonicRegression)


class ProCal(ReferenceSet):
    """Calibrated confidence and probabilities that hold where data is sparse.

    Parameters
    ----------
    base : how scores alone are calibrated: a name of `proxcal.base.BASES`, an object with `fit(probs, y)` and
        `predict_proba(probs)`, or "auto" (chosen by held-out log loss among the cheap ones; predictions may change).
    informed : how proximity then corrects the confidence: "auto" (chosen by held-out log loss, doing nothing included),
        "logistic", "neighborhood", "density-ratio", "bin-mean-shift", None, an object with
        `fit(confidence, proximity, correct)` and `predict(confidence, proximity)`, or a list of those, each of which
        corrects what the former gave.
    input : what scores are: "logits" or "probs".
    n_neighbors, metric, normalize, index, device : see `Proximity`.
    rows : "keep" (no prediction changes), "rerank" or "paper"; see `proxcal.rows`.
    cross_fit : whether the informed step learns from confidences that a base which fits closely (the discrete ones,
        anyone's object) gave without having seen the sample, in five folds; from 100 samples on.
    random_state : draws the folds of every cross-validation.

    Learns `base_`, `proximity_`, `informed_` (None where nothing helped) and `selection_`, the record of what "auto"
    chose, that of the base under "base".
    """

    def __init__(
        self,
        *,
        base: Any = "temperature",
        informed: Any = "auto",
        input: Input = "logits",
        n_neighbors: int = 10,
        metric: Metric = "euclidean",
        normalize: bool = True,
        index: Index = "exact",
        device: str | None = None,
        rows: Mode = "keep",
        cross_fit: bool = True,
        random_state: int = 0,
    ) -> None:
        self.base = base
        self.informed = informed
        self.input = input
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.normalize = normalize
        self.index = index
        self.device = device
        self.rows = rows
        self.cross_fit = cross_fit
        self.random_state = random_state

    @classmethod
    def paper(cls, *, base: Any = "temperature", **settings: Any) -> Self:
        """The paper's own settings: raw features, its Density-Ratio (Bin-Mean-Shift with λ = ½ for discrete bases),
        its rows."""
        if isinstance(base, DISCRETE_BASES) or (isinstance(base, str) and BASES.get(base) in DISCRETE_BASES):
            informed: Any = INFORMED["bin-mean-shift"](shrinkage=0.5)
        else:
            informed = INFORMED["density-ratio"](coordinates="paper", evaluation="exact")
        own = {"base": base, "informed": informed, "normalize": False, "rows": "paper", "cross_fit": False}
        return cls(**(own | settings))

    def fit(self, scores: ArrayLike, labels: ArrayLike, features: ArrayLike | None = None) -> Self:
        """Learn from calibration samples, which the model was not trained on; they become the reference set."""
        return self._fit_checked(*check_labelled(scores, labels, self.input), features)

    def fit_confidence(self, confidence: ArrayLike, correct: ArrayLike, features: ArrayLike | None = None) -> Self:
        """The same for a model that gives one number a sample, how sure it is of its answer, and whether it was right.

        `confidence` is then asked with such numbers in place of scores; there are no rows to predict.
        """
        with nothing_predicted():
            return self._fit_checked(*check_labelled(confidence, correct, self.input, bare=True), features, RIGHT)

    def _fit_checked(
        self, scores: Array, labels: Ints, features: ArrayLike | None, asked_for: int | None = None
    ) -> Self:
        check_choice("rows", self.rows, MODES)
        k, n = self._n_searched(), len(labels)
        neighbors = self._neighbors_of_references(check_features(features, n_samples=n), k) if k else None
        return self._fit_with(scores, labels, neighbors, asked_for)

    def _n_searched(self) -> int:
        """How many neighbours `base` and `informed` ask for."""
        informed = make_informed(self.informed, self.random_state)
        base = None if _is_auto(self.base) else make_base(self.base, self.input)
        return n_searched(base, informed, self.n_neighbors)

    def _neighbors_of_references(self, features: Array, k: int) -> Neighbors:
        """Take the features as the reference set, and find the k neighbours of each among the others."""
        self.proximity_ = Proximity(
            n_neighbors=self.n_neighbors,
            metric=self.metric,
            normalize=self.normalize,
            index=self.index,
            device=self.device,
        ).fit(features)
        return self.proximity_.neighbors(k=min(k, len(features) - 1))

    def _fit_with(self, scores: Array, labels: Ints, neighbors: Neighbors | None, asked_for: int | None = None) -> Self:
        """Fit on checked arrays and neighbours already found; None where neither base nor informed asks for them."""
        self.n_classes_, self.asked_for_ = scores.shape[1], asked_for
        base, of_base = self._choose_base(scores, labels)
        self.base_ = base.fit_with(scores, labels, neighbors)
        self.informed_, self.selection_, self.exponent_ = None, of_base or None, 1.0
        informed = make_informed(self.informed, self.random_state)
        if informed is None or neighbors is None:
            return self
        top = self._top_of_references(scores, labels, neighbors)
        self._keep_references(labels, top)
        samples = self._samples(top, neighbors, takes_evidence(informed))
        correct: Bools = top.predicted == labels
        if informed == "auto":
            self.informed_, of_informed = select(samples, correct, self.random_state)
            self.selection_ = of_informed | of_base
        else:
            self.informed_ = samples.fit(clone(informed, safe=False), correct)
        if self.informed_ is not None and self.rows != "paper":
            self.exponent_ = fit_exponent(self.base_, scores, neighbors, top.predicted, labels)
        return self

    def _choose_base(self, scores: Array, labels: Ints) -> tuple[BaseCalibrator, dict[str, Any]]:
        """The base, unfitted, and the record of its choice under "base" where there was one."""
        if not _is_auto(self.base):
            return make_base(self.base, self.input), {}
        base, record = select_base(scores, labels, self.input, self.random_state)
        return base, {"base": record}

    def _top_of_references(self, scores: Array, labels: Ints, neighbors: Neighbors | None) -> Top:
        """What the base says of the calibration samples: copies that did not see them, where it fits them closely."""
        if self.cross_fit and self.base_.fits_closely and len(labels) >= MIN_SAMPLES:
            blocks = held_out_blocks(self.base_, scores, labels, self.random_state)
            return Top.of(blocks, len(labels), self.asked_for_)
        return self._top(scores, neighbors)

    def confidence(self, scores: ArrayLike, features: ArrayLike | None = None) -> Floats:
        """The probability that each prediction is right, (n,); after `fit_confidence`, of confidences in place of
        scores."""
        checked, neighbors = self._check(scores, features, want_rows=False)
        if self.rows != "keep" and self.asked_for_ is None:
            return self._calibrated(checked, neighbors).confidence
        return self._informed_confidence(self._top(checked, neighbors), neighbors)

    def predict_proba(self, scores: ArrayLike, features: ArrayLike | None = None) -> Floats:
        """Rows that sum to 1, (n, C); the predicted class has the confidence above."""
        return self._calibrated(*self._check(scores, features)).probs

    def predict(self, scores: ArrayLike, features: ArrayLike | None = None) -> Ints:
        """The class with the largest probability, (n,); with rows="keep" the base's, which may need no features."""
        if self.rows != "keep":
            return self._calibrated(*self._check(scores, features)).predicted
        check_is_fitted(self)
        return self._top(*self._check(scores, features, self.base_.n_searched)).predicted

    def calibrate(self, scores: ArrayLike, features: ArrayLike | None = None) -> Calibrated:
        """Rows, predictions, their confidence and, where features are given, proximity: all from one search."""
        checked, neighbors = self._check(scores, features)
        if neighbors is None and features is not None and hasattr(self, "proximity_"):
            neighbors = self.proximity_.neighbors(check_features(features, n_samples=len(checked)))
        return self._calibrated(checked, neighbors)

    def _calibrated(self, scores: Array, neighbors: Neighbors | None) -> Calibrated:
        """The same on checked scores and neighbours already found."""
        probs: Floats = np.empty(scores.shape)
        top = Top.of(stored(self.base_.blocks(scores, neighbors), probs), len(scores))
        proximity = None if neighbors is None else log_proximity(neighbors.nearest(self.n_neighbors))
        if neighbors is None or self.informed_ is None:
            return Calibrated(probs, top.predicted, top.confidence, proximity)
        confidence = self._informed_confidence(top, neighbors)
        for block in row_blocks(*probs.shape):
            probs[block] = rebuild(probs[block], confidence[block], self.exponent_, self.rows)
        if self.rows == "keep":
            return Calibrated(probs, top.predicted, confidence, proximity)
        after = Top.of(((block, probs[block]) for block in row_blocks(*probs.shape)), len(probs))
        overtaken = after.predicted != top.predicted
        return Calibrated(probs, after.predicted, np.where(overtaken, after.confidence, confidence), proximity)

    def _top(self, scores: Array, neighbors: Neighbors | None) -> Top:
        return Top.of(self.base_.blocks(scores, neighbors), len(scores), self.asked_for_)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write one safetensors file; what `load` gives back computes the same, bit for bit."""
        check_is_fitted(self)
        _store.write(path, self, overwrite=overwrite)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        loaded = _store.read(path, _CLASSES)
        if not isinstance(loaded, cls):
            raise ValueError(f"{path} holds a {type(loaded).__name__}, not a {cls.__name__}")
        return loaded

    def _informed_confidence(self, top: Top, neighbors: Neighbors | None) -> Floats:
        if self.informed_ is None or neighbors is None:
            return top.confidence
        samples = self._samples(top, neighbors, takes_evidence(self.informed_))
        (confidence,) = check_samples(confidence=samples.predict(self.informed_))
        return np.asarray(confidence)

    def _check(
        self, scores: ArrayLike, features: ArrayLike | None, k: int | None = None, *, want_rows: bool = True
    ) -> tuple[Array, Neighbors | None]:
        """The scores, checked, and the k nearest references: as many as what was fitted asks for, unless told."""
        check_is_fitted(self)
        if self.asked_for_ is None:
            checked = check_scores(scores, self.input, n_classes=self.n_classes_)
        elif want_rows:
            raise ValueError(NO_ROWS)
        else:
            checked = rows_of(scores, self.input)
        k = n_searched(self.base_, self.informed_, self.n_neighbors) if k is None else k
        if k == 0:
            return checked, None
        search = self.proximity_
        rows = check_features(features, n_samples=len(checked), n_columns=search.n_columns)
        return checked, search.neighbors(rows, min(k, search.n_references - 1))


def _is_auto(base: Any) -> bool:
    return isinstance(base, str) and base == "auto"


_CLASSES: dict[str, type[Estimator]] = {
    cls.__name__: cls
    for cls in (
        ProCal,
        Proximity,
        Reduction,
        NormalScores,
        Chain,
        ForeignCalibrator,
        *BASES.values(),
        *INFORMED.values(),
    )
}
