import warnings

import numpy as np
import pytest
import sklearn
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_digits, make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_predict, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import proxcal as px
from proxcal.integrations.sklearn import ProximityCalibratedClassifier


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return train_test_split(X / 16, y, test_size=0.4, random_state=0, stratify=y)


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([ProximityCalibratedClassifier(LogisticRegression())])
def test_scikit_learns_own_checks_pass(estimator, check):
    check(estimator)


def test_probabilities_are_better_than_the_estimators_own(digits):
    X, X_test, y, y_test = digits
    plain = GaussianNB().fit(X, y)
    calibrated = ProximityCalibratedClassifier(GaussianNB()).fit(X, y)
    usual = CalibratedClassifierCV(GaussianNB(), ensemble=False).fit(X, y)
    loss, loss_usual, loss_plain = (log_loss(y_test, e.predict_proba(X_test)) for e in (calibrated, usual, plain))
    assert loss < loss_usual < loss_plain


def test_predictions_are_the_estimators_own(digits):
    X, X_test, y, _ = digits
    calibrated = ProximityCalibratedClassifier(LogisticRegression(max_iter=500)).fit(X, y)
    np.testing.assert_array_equal(calibrated.predict(X_test), calibrated.estimator_.predict(X_test))


def test_it_is_procal_on_held_out_scores_with_the_training_samples_as_references(digits):
    X, X_test, y, _ = digits
    calibrated = ProximityCalibratedClassifier(GaussianNB(), cv=3).fit(X, y)
    scores = cross_val_predict(GaussianNB(), X, y, cv=3, method="predict_proba")
    expected = px.ProCal(input="probs").fit(scores, y, features=X)
    test_scores = GaussianNB().fit(X, y).predict_proba(X_test)
    np.testing.assert_array_equal(
        calibrated.predict_proba(X_test), expected.predict_proba(test_scores, features=X_test)
    )
    np.testing.assert_array_equal(calibrated.confidence(X_test), expected.confidence(test_scores, features=X_test))
    np.testing.assert_array_equal(calibrated.proximity(X_test), expected.proximity_.score(X_test))


def test_a_frozen_estimator_is_not_fitted_again(digits):
    X, X_test, y, _ = digits
    trained = LogisticRegression(max_iter=500).fit(X[:300], y[:300])
    before = trained.coef_.copy()
    calibrated = ProximityCalibratedClassifier(FrozenEstimator(trained)).fit(X[300:], y[300:])
    np.testing.assert_array_equal(trained.coef_, before)
    expected = px.ProCal(input="probs").fit(trained.predict_proba(X[300:]), y[300:], features=X[300:])
    np.testing.assert_array_equal(
        calibrated.predict_proba(X_test), expected.predict_proba(trained.predict_proba(X_test), features=X_test)
    )


def test_a_label_that_a_frozen_estimator_does_not_know_is_refused(digits):
    X, _, y, _ = digits
    known = y < 9
    trained = LogisticRegression(max_iter=500).fit(X[known], y[known])
    with pytest.raises(ValueError, match="y has 9, which the frozen estimator does not know"):
        ProximityCalibratedClassifier(FrozenEstimator(trained)).fit(X, y)


@pytest.mark.parametrize("n_classes", [2, 10])
def test_decision_values_serve_as_logits(digits, n_classes):
    X, X_test, y, y_test = digits
    X = X + np.random.default_rng(0).normal(size=X.shape)
    some, some_test = y < n_classes, y_test < n_classes
    calibrated = ProximityCalibratedClassifier(RidgeClassifier()).fit(X[some], y[some])
    assert calibrated.calibrator_.input == "logits"
    np.testing.assert_array_equal(
        calibrated.predict(X_test[some_test]), calibrated.estimator_.predict(X_test[some_test])
    )


def test_neighbours_are_sought_in_what_a_pipeline_makes_of_the_input(digits):
    X, X_test, y, _ = digits
    pipeline = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    calibrated = ProximityCalibratedClassifier(pipeline, features="pipeline").fit(X, y)
    scaler = StandardScaler().fit(X)
    expected = px.Proximity().fit(scaler.transform(X)).score(scaler.transform(X_test))
    np.testing.assert_allclose(calibrated.proximity(X_test), expected, rtol=1e-12)


def test_a_function_gives_the_features(digits):
    X, X_test, y, _ = digits
    calibrated = ProximityCalibratedClassifier(GaussianNB(), features=lambda X: X[:, :20]).fit(X, y)
    np.testing.assert_array_equal(calibrated.proximity(X_test), px.Proximity().fit(X[:, :20]).score(X_test[:, :20]))


def test_frames_with_columns_of_words_reach_the_pipeline():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({"size": rng.normal(size=300), "kind": rng.choice(["a", "b", "c"], 300)})
    y = np.where((frame["size"] + (frame["kind"] == "a") + rng.normal(size=300)) > 0.5, "yes", "no")
    columns = make_column_transformer((OneHotEncoder(sparse_output=False), ["kind"]), remainder="passthrough")
    pipeline = make_pipeline(columns, LogisticRegression())
    calibrated = ProximityCalibratedClassifier(pipeline, features="pipeline").fit(frame, y)
    assert set(calibrated.predict(frame)) == {"yes", "no"}
    assert list(calibrated.feature_names_in_) == ["size", "kind"]
    with pytest.raises(ValueError, match="feature names"):
        calibrated.predict(frame.rename(columns={"kind": "sort"}))


def test_polars_frames_are_taken(digits):
    polars = pytest.importorskip("polars")
    X, _, y, _ = digits
    frame = polars.DataFrame({f"x{i}": X[:, i] for i in range(20)})
    estimator = KNeighborsClassifier()  # unlike GaussianNB's sums, its counts do not depend on how rows lie in memory
    of_frame, of_array = (ProximityCalibratedClassifier(estimator).fit(x, y) for x in (frame, X[:, :20]))
    np.testing.assert_array_equal(of_frame.predict_proba(frame), of_array.predict_proba(X[:, :20]))


def test_a_class_too_small_for_every_fold_is_said_and_given_a_finite_probability():
    X, y = make_classification(300, n_informative=5, n_classes=3, random_state=0)
    y = np.concatenate([np.where(y == 2, 0, y), [2, 2]])
    X = np.concatenate([X, X[:2]])
    for estimator in (GaussianNB(), RidgeClassifier()):
        with pytest.warns(px.ProxcalWarning, match="y has a class of 2 samples for 5 folds"):
            calibrated = ProximityCalibratedClassifier(estimator).fit(X, y)
        probs = calibrated.predict_proba(X)
        assert probs.shape == (302, 3)
        assert np.isfinite(probs).all()


def test_sample_weights_go_to_the_estimator(digits):
    X, _, y, _ = digits
    weight = np.random.default_rng(0).random(len(y))
    calibrated = ProximityCalibratedClassifier(GaussianNB()).fit(X, y, sample_weight=weight)
    expected = GaussianNB().fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(calibrated.estimator_.theta_, expected.theta_)
    scores = cross_val_predict(GaussianNB(), X, y, method="predict_proba", params={"sample_weight": weight})
    np.testing.assert_allclose(
        calibrated.calibrator_.base_.temperature_,
        px.TemperatureScaling(input="probs").fit(scores, y).temperature_,
    )


def test_metadata_is_routed_to_an_estimator_that_asks_for_it(digits):
    X, _, y, _ = digits
    weight = np.random.default_rng(0).random(len(y))
    with sklearn.config_context(enable_metadata_routing=True):
        asks = GaussianNB().set_fit_request(sample_weight=True)
        calibrated = ProximityCalibratedClassifier(asks).fit(X, y, sample_weight=weight)
        with pytest.raises(TypeError, match="sample_weight"):
            ProximityCalibratedClassifier(KNeighborsClassifier()).fit(X, y, sample_weight=weight)
    expected = GaussianNB().fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(calibrated.estimator_.theta_, expected.theta_)


def test_a_calibrator_of_ones_own_is_used_and_left_unfitted(digits):
    X, X_test, y, _ = digits
    own = px.ProCal(base="ensemble-temperature", informed=None)
    calibrated = ProximityCalibratedClassifier(GaussianNB(), calibrator=own).fit(X, y)
    assert isinstance(calibrated.calibrator_.base_, px.EnsembleTemperatureScaling)
    assert not hasattr(own, "base_")
    assert own.input == "logits"
    assert calibrated.predict_proba(X_test).shape == (len(X_test), 10)


def test_few_samples_have_fewer_neighbours():
    X, y = make_classification(12, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", px.ProxcalWarning)
        calibrated = ProximityCalibratedClassifier(LogisticRegression(), cv=2).fit(X[:9], y[:9])
    assert calibrated.calibrator_.n_neighbors == 8
    np.testing.assert_allclose(calibrated.predict_proba(X).sum(axis=1), 1)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ("inputs", 'features must be "input", "pipeline" or a function of X'),
        ("pipeline", "needs a Pipeline of two steps at the least; estimator is a GaussianNB"),
    ],
)
def test_features_that_cannot_be_had_are_refused(digits, features, message):
    X, _, y, _ = digits
    with pytest.raises(ValueError, match=message):
        ProximityCalibratedClassifier(GaussianNB(), features=features).fit(X, y)
