"""Any scikit-learn classifier, calibrated by proximity: a meta-estimator beside `CalibratedClassifierCV`.

A classifier is too sure of the samples it was trained on, so it is calibrated on others. Cross-validation gives each
training sample scores by a copy that did not see it; `ProCal` learns from these, with the training samples as the
references, and the classifier is fitted once more on all of them. A classifier that is trained already
(`sklearn.frozen.FrozenEstimator`) is left as it is: then `fit` gets samples that it has not seen.
"""

import warnings
from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, check_cv, cross_val_predict
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array, get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from proxcal._validation import Array, Floats, Input, Ints, ProxcalWarning
from proxcal.procal import ProCal

FeatureSource = Literal["input", "pipeline"] | Callable[[Any], Any]
_LOWEST = -1e3  # decision values of a class that a fold did not hold: as good as −∞ to a softmax


class ProximityCalibratedClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Probabilities and confidence of `estimator` that hold where data is sparse. By default no prediction changes.

    Parameters
    ----------
    estimator : a classifier with `predict_proba` or `decision_function` (None: logistic regression); wrapped in
        `FrozenEstimator` it is not fitted again.
    calibrator : a `ProCal` with settings of your own; its `input` is set to what the estimator gives. None: `ProCal()`
        with fewer neighbours where there are fewer samples.
    features : where neighbours are sought: "input" (the columns of X, which should then be numbers on like scales),
        "pipeline" (what the steps before the last make of X), or a function of X that returns an (n, d) array.
    cv : folds, or a splitter, for the scores that the calibrator learns from.
    n_jobs : folds fitted at the same time.

    What else `fit` is given, `sample_weight` for one, goes to the estimator; calibration counts every sample once.

    Learns `classes_`, `estimator_` and `calibrator_`, whose `selection_` says what was chosen and why.
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        calibrator: ProCal | None = None,
        features: FeatureSource = "input",
        cv: Any = 5,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.calibrator = calibrator
        self.features = features
        self.cv = cv
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """Fit estimator and calibrator; of a frozen estimator the calibrator alone."""
        estimator = LogisticRegression() if self.estimator is None else self.estimator
        _check_features(self.features, estimator)
        X, y = self._checked_training_set(X, y)
        if isinstance(estimator, FrozenEstimator):
            self.estimator_, self.classes_ = estimator, np.asarray(estimator.classes_)
            labels = _places(y, self.classes_)
            scores = self._scores(X)
        else:
            self.classes_, labels = np.unique(y, return_inverse=True)
            if len(self.classes_) < 2:
                raise ValueError(f"y has one class, {self.classes_[0]}; a classifier needs two at the least")
            scores = self._held_out_scores(clone(estimator), X, y, fit_params)
            self.estimator_ = clone(estimator).fit(X, y, **self._routed(fit_params))
        calibrator = self._calibrator(_response(self.estimator_)[0], len(labels))
        self.calibrator_ = calibrator.fit(scores, labels, features=self._features(X))
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Rows that sum to 1, a column a class of `classes_`."""
        probs: Floats = self._calibrated("predict_proba", X)
        return probs

    def predict(self, X: Any) -> Array:
        """The class with the largest probability."""
        places = self._calibrated("predict", X)
        predicted: Array = self.classes_[places]
        return predicted

    def confidence(self, X: Any) -> Floats:
        """The probability that each prediction is right."""
        confidence: Floats = self._calibrated("confidence", X)
        return confidence

    def proximity(self, X: Any) -> Floats:
        """How much company each sample has among the training samples, in (0, 1]."""
        check_is_fitted(self)
        proximity: Floats = self.calibrator_.proximity_.score(self._features(self._checked(X)))
        return proximity

    def get_metadata_routing(self) -> MetadataRouter:
        router = MetadataRouter(owner=type(self).__name__)
        mapping = MethodMapping().add(caller="fit", callee="fit")
        return router.add(estimator=self.estimator or LogisticRegression(), method_mapping=mapping)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.features == "input":
            return tags
        tags.input_tags = get_tags(self.estimator or LogisticRegression()).input_tags
        return tags

    def _calibrated(self, method: str, X: Any) -> Any:
        check_is_fitted(self)
        X = self._checked(X)
        return getattr(self.calibrator_, method)(self._scores(X), features=self._features(X))

    def _checked_training_set(self, X: Any, y: Any) -> tuple[Any, Array]:
        """Frames stay frames, for estimators that select columns by name."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: calibration needs the labels"
            )
        check_classification_targets(y)
        self._checked(X, reset=True)
        X, y = indexable(X, column_or_1d(y, warn=True))
        return X, np.asarray(y)

    def _checked(self, X: Any, *, reset: bool = False) -> Any:
        if self.features == "input":
            validate_data(self, X, reset=reset)
        else:
            validate_data(self, X, reset=reset, skip_check_array=True)
        return X

    def _routed(self, fit_params: dict[str, Any]) -> dict[str, Any]:
        """What of it the estimator has asked for; all of it where scikit-learn's metadata routing is off."""
        if not get_config()["enable_metadata_routing"]:
            return fit_params
        routed: dict[str, Any] = process_routing(self, "fit", **fit_params).estimator.fit
        return routed

    def _held_out_scores(self, estimator: Any, X: Any, y: Array, fit_params: dict[str, Any]) -> Array:
        input, method = _response(estimator)
        cv = check_cv(self.cv, y, classifier=True)
        smallest = int(np.unique(y, return_counts=True)[1].min())
        if isinstance(cv, StratifiedKFold) and smallest < cv.n_splits:
            warnings.warn(
                f"y has a class of {smallest} samples for {cv.n_splits} folds: a fold may be without it",
                ProxcalWarning,
                stacklevel=3,
            )
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The least populated class in y has only")  # said above
            warnings.filterwarnings("ignore", "Number of classes in training fold")  # their scores are as good as 0
            scores = cross_val_predict(estimator, X, y, cv=cv, method=method, n_jobs=self.n_jobs, params=fit_params)
        return _two_columns(scores, input)

    def _scores(self, X: Any) -> Array:
        input, method = _response(self.estimator_)
        return _two_columns(getattr(self.estimator_, method)(X), input)

    def _features(self, X: Any) -> Array:
        if callable(self.features):
            made = self.features(X)
        elif self.features == "pipeline":
            made = _pipeline(self.estimator_)[:-1].transform(X)
        else:
            made = check_array(X)
        return np.asarray(made.todense() if hasattr(made, "todense") else made)

    def _calibrator(self, input: Input, n_samples: int) -> ProCal:
        if self.calibrator is None:
            return ProCal(n_neighbors=max(1, min(10, n_samples - 1)), input=input)
        own: ProCal = clone(self.calibrator).set_params(input=input)
        return own


def _check_features(features: FeatureSource, estimator: Any) -> None:
    if not callable(features) and features not in ("input", "pipeline"):
        raise ValueError(f'features must be "input", "pipeline" or a function of X; got {features!r}')
    if features == "pipeline":
        _pipeline(estimator)


def _pipeline(estimator: Any) -> Pipeline:
    inner = estimator.estimator if isinstance(estimator, FrozenEstimator) else estimator
    if not isinstance(inner, Pipeline) or len(inner.steps) < 2:
        raise ValueError(
            f'features="pipeline" needs a Pipeline of two steps at the least; estimator is a {type(inner).__name__}'
        )
    return inner


def _response(estimator: Any) -> tuple[Input, str]:
    """What the estimator gives of each class: probabilities if it has them, else decision values, taken as logits."""
    if hasattr(estimator, "predict_proba"):
        return "probs", "predict_proba"
    if hasattr(estimator, "decision_function"):
        return "logits", "decision_function"
    raise ValueError(f"estimator must have predict_proba or decision_function; {type(estimator).__name__} has neither")


def _two_columns(scores: Any, input: Input) -> Array:
    """A column a class also where a decision function gives one for two classes; a class not seen counts for
    nothing."""
    rows = np.asarray(scores)
    if rows.ndim == 1:
        rows = np.column_stack([np.zeros_like(rows), rows])
    return np.maximum(rows, _LOWEST) if input == "logits" else rows


def _places(y: Array, classes: Array) -> Ints:
    """The place of each label among the classes of a trained estimator."""
    unknown = ~np.isin(y, classes)
    if unknown.any():
        raise ValueError(f"y has {y[np.argmax(unknown)]}, which the frozen estimator does not know")
    places: Ints = np.searchsorted(classes, y)
    return places
