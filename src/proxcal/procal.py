"""ProCal: base calibrator, proximity and informed calibrator, fitted together and applied together (the paper's
section 5).

    base        scores               -> rows, and the top's confidence
    proximity   features             -> neighbours among the calibration samples
    informed    confidence, both     -> the confidence that holds at every proximity
    rows        rows and confidence  -> whole rows, the ranking kept

A calibration sample is left out of its own neighbours, so what is learned on them holds for samples never seen.
Here ProCal is set up, fitted and saved; `_inference.py` has what it says of samples then, `_reference_set.py` the
references it keeps.
"""

import os
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from proxcal import _store
from proxcal._estimator import Estimator
from proxcal._inference import Inference
from proxcal._reference_set import n_searched
from proxcal._validation import Array, Bools, Input, Ints, check_choice, check_features
from proxcal.base import (
    BASES,
    BaseCalibrator,
    ForeignCalibrator,
    HistogramBinning,
    IsotonicRegression,
    MultiIsotonicRegression,
    make_base,
)
from proxcal.base._bare import RIGHT, check_labelled, nothing_predicted
from proxcal.base._cross_fitting import held_out_blocks
from proxcal.base._top import Top
from proxcal.base.selection import select_base
from proxcal.informed import INFORMED, Chain, NormalScores, make_informed, select, takes_evidence
from proxcal.informed.selection import MIN_SAMPLES
from proxcal.proximity import Neighbors, Proximity
from proxcal.proximity._reduction import Reduction
from proxcal.proximity.backends import Index
from proxcal.proximity.proximity import Metric
from proxcal.rows import MODES, Mode, fit_exponent

DISCRETE_BASES = (HistogramBinning, IsotonicRegression, MultiIsotonicRegression)


class ProCal(Inference):
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
        samples = self._samples(top, neighbors, takes_evidence(informed), np.arange(len(labels)))
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

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write one safetensors file; what `load` gives back computes the same, bit for bit."""
        check_is_fitted(self)
        _store.write(path, self, overwrite=overwrite)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        loaded: Self = _store.read(path, _CLASSES, cls)
        return loaded


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
