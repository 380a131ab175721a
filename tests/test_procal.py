import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

import proxcal as px
import proxcal.base
from proxcal.base import ForeignCalibrator

BASES = ["identity", "temperature", "histogram", "isotonic", "multi-isotonic"]
INFORMED = ["auto", "logistic", "neighborhood", "density-ratio", "bin-mean-shift", None]


@pytest.fixture(scope="module")
def demo():
    calibration, test = px.load_demo().split(0.5, random_state=0)
    return calibration.take(np.arange(1200)), test.take(np.arange(800))


def fit(calibration, **settings):
    return px.ProCal(**settings).fit(calibration.logits, calibration.labels, features=calibration.features)


def probs_of(calibrator, test):
    return calibrator.predict_proba(test.logits, features=test.features)


def softmax(logits):
    z = np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True))
    return z / z.sum(axis=1, keepdims=True)


@pytest.mark.filterwarnings("ignore::proxcal.ProxcalWarning")
@pytest.mark.parametrize("informed", INFORMED)
@pytest.mark.parametrize("base", BASES)
def test_rows_sum_to_one_and_no_prediction_of_the_base_changes(demo, base, informed):
    calibration, test = demo
    calibrator = fit(calibration, base=base, informed=informed)
    probs = probs_of(calibrator, test)
    np.testing.assert_allclose(probs.sum(axis=1), 1, atol=1e-12)
    of_base = calibrator.base_.predict_proba(test.logits)
    ordered = np.sort(of_base, axis=1)
    unique = ordered[:, -1] > ordered[:, -2]
    np.testing.assert_array_equal(probs.argmax(axis=1)[unique], of_base.argmax(axis=1)[unique])


@pytest.mark.parametrize("base", ["identity", "temperature"])
def test_order_preserving_bases_keep_the_models_predictions(demo, base):
    calibration, test = demo
    calibrator = fit(calibration, base=base)
    np.testing.assert_array_equal(calibrator.predict(test.logits, features=test.features), test.logits.argmax(axis=1))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([0.01, 1.0, 30.0, 1000.0]), st.sampled_from(["identity", "temperature"]))
@pytest.mark.filterwarnings("ignore::proxcal.ProxcalWarning")
def test_no_prediction_changes_whatever_the_data(seed, scale, base):
    rng = np.random.default_rng(seed)
    logits, features = scale * rng.normal(size=(160, 5)), rng.normal(size=(160, 3))
    labels = np.where(rng.random(160) < 0.4, logits.argmax(axis=1), rng.integers(5, size=160))
    calibrator = px.ProCal(base=base, informed="bin-mean-shift").fit(logits[:110], labels[:110], features[:110])
    probs = calibrator.predict_proba(logits[110:], features[110:])
    of_base = np.sort(calibrator.base_.predict_proba(logits[110:]), axis=1)
    unique = of_base[:, -1] > of_base[:, -2]
    np.testing.assert_array_equal(probs.argmax(axis=1)[unique], logits[110:].argmax(axis=1)[unique])
    np.testing.assert_allclose(probs.sum(axis=1), 1, atol=1e-12)


def test_the_default_lowers_log_loss_and_proximity_bias_on_real_data():
    calibration, test = px.load_demo().split(0.5, random_state=0)
    calibrator = fit(calibration)
    base, ours = calibrator.base_.predict_proba(test.logits), probs_of(calibrator, test)
    correct, proximity = test.labels == test.logits.argmax(axis=1), calibrator.proximity_.score(test.features)
    assert px.nll(ours.max(axis=1), correct) < px.nll(base.max(axis=1), correct) - 0.03
    assert px.piece(ours.max(axis=1), correct, proximity) < px.piece(base.max(axis=1), correct, proximity) - 0.01


def test_confidence_is_the_probability_of_the_predicted_class(demo):
    calibration, test = demo
    calibrator = fit(calibration)
    confidence, probs = calibrator.confidence(test.logits, features=test.features), probs_of(calibrator, test)
    possible = confidence > 0.2  # of ten classes, with room for how the rest is spread
    np.testing.assert_allclose(probs.max(axis=1)[possible], confidence[possible])


def test_predict_is_the_argmax_of_predict_proba_for_every_kind_of_rows(demo):
    calibration, test = demo
    for rows in ("keep", "rerank", "paper"):
        calibrator = fit(calibration, rows=rows)
        np.testing.assert_array_equal(
            calibrator.predict(test.logits, features=test.features), probs_of(calibrator, test).argmax(axis=1)
        )


def test_without_informed_calibration_the_base_is_returned_and_features_are_not_needed(demo):
    calibration, test = demo
    calibrator = px.ProCal(informed=None).fit(calibration.logits, calibration.labels)
    alone = px.TemperatureScaling().fit(calibration.logits, calibration.labels)
    np.testing.assert_array_equal(calibrator.predict_proba(test.logits), alone.predict_proba(test.logits))


def test_probabilities_give_what_their_logits_give(demo):
    calibration, test = demo
    by_logits = fit(calibration, base="identity")
    by_probs = px.ProCal(base="identity", input="probs").fit(
        softmax(calibration.logits), calibration.labels, features=calibration.features
    )
    np.testing.assert_allclose(
        by_probs.predict_proba(softmax(test.logits), features=test.features), probs_of(by_logits, test), atol=1e-9
    )


def test_the_order_of_calibration_samples_does_not_matter_to_a_given_method(demo):
    calibration, test = demo
    turned = calibration.take(np.random.default_rng(1).permutation(len(calibration)))
    for informed in ("density-ratio", "bin-mean-shift"):
        np.testing.assert_allclose(
            probs_of(fit(calibration, informed=informed), test),
            probs_of(fit(turned, informed=informed), test),
            atol=1e-6,
        )


def test_one_sample_gets_what_it_gets_among_many(demo):
    calibration, test = demo
    calibrator = fit(calibration)
    alone = calibrator.predict_proba(test.logits[5:6], features=test.features[5:6])
    np.testing.assert_array_equal(alone[0], probs_of(calibrator, test)[5])


def test_the_same_random_state_gives_the_same_to_the_bit(demo):
    calibration, test = demo
    np.testing.assert_array_equal(probs_of(fit(calibration), test), probs_of(fit(calibration), test))


@pytest.mark.filterwarnings("ignore::proxcal.ProxcalWarning")
@pytest.mark.parametrize("informed", INFORMED)
@pytest.mark.parametrize("base", BASES)
def test_loading_gives_what_was_saved_to_the_bit(demo, tmp_path, base, informed):
    calibration, test = demo
    calibrator = fit(calibration, base=base, informed=informed)
    calibrator.save(tmp_path / "a.proxcal")
    loaded = px.ProCal.load(tmp_path / "a.proxcal")
    np.testing.assert_array_equal(probs_of(loaded, test), probs_of(calibrator, test))
    assert loaded.selection_ == calibrator.selection_


@pytest.mark.filterwarnings("ignore::proxcal.ProxcalWarning")
def test_own_objects_are_saved_with_their_settings(demo, tmp_path):
    calibration, test = demo
    calibrator = fit(calibration, base=px.HistogramBinning(n_bins=7), informed=px.BinMeanShift(shrinkage=0.3))
    calibrator.save(tmp_path / "a.proxcal")
    loaded = px.ProCal.load(tmp_path / "a.proxcal")
    np.testing.assert_array_equal(probs_of(loaded, test), probs_of(calibrator, test))
    assert loaded.base.n_bins == 7


@pytest.mark.parametrize(
    "base",
    [
        px.TemperatureScaling(input="logits"),
        px.NeighborTemperatureScaling(),
        ForeignCalibrator(calibrator=px.VectorScaling()),
    ],
    ids=repr,
)
def test_objects_made_for_the_other_kind_of_scores_are_saved_too(demo, tmp_path, base):
    calibration, test = demo
    probs, features = softmax(calibration.logits), calibration.features
    calibrator = px.ProCal(base=base, input="probs").fit(probs, calibration.labels, features=features)
    calibrator.save(tmp_path / "model.proxcal")
    loaded = px.ProCal.load(tmp_path / "model.proxcal")
    new = softmax(test.logits)
    np.testing.assert_array_equal(
        loaded.predict_proba(new, test.features), calibrator.predict_proba(new, test.features)
    )


def test_another_librarys_base_cannot_be_saved_and_is_named(demo, tmp_path):
    calibrator = fit(demo[0], base=LogisticRegression())
    with pytest.raises(ValueError, match="is a LogisticRegression, which proxcal cannot save"):
        calibrator.save(tmp_path / "a.proxcal")
    assert not list(tmp_path.iterdir())


def test_saving_keeps_an_existing_file_unless_told(demo, tmp_path):
    calibrator = fit(demo[0], informed=None)
    (tmp_path / "a.proxcal").write_text("mine")
    with pytest.raises(ValueError, match="exists"):
        calibrator.save(tmp_path / "a.proxcal")
    assert (tmp_path / "a.proxcal").read_text() == "mine"
    calibrator.save(tmp_path / "a.proxcal", overwrite=True)
    px.ProCal.load(tmp_path / "a.proxcal")


def test_saving_before_fit_is_an_error(tmp_path):
    with pytest.raises(NotFittedError):
        px.ProCal().save(tmp_path / "a.proxcal")


class Halved:
    """Anyone's informed calibrator: proximity is given as it is defined."""

    def fit(self, confidence, proximity, correct):
        self.proximity_range = proximity.min(), proximity.max()
        return self

    def predict(self, confidence, proximity):
        return confidence / 2


def test_anyones_informed_calibrator_gets_proximity_as_defined_and_is_not_fitted_in_place(demo):
    calibration, test = demo
    given = Halved()
    calibrator = fit(calibration, informed=given)
    low, high = calibrator.informed_.proximity_range
    assert 0 < low < high <= 1
    assert not hasattr(given, "proximity_range")
    np.testing.assert_allclose(
        calibrator.confidence(test.logits, features=test.features),
        calibrator.base_.predict_proba(test.logits).max(axis=1) / 2,
    )


def test_an_informed_calibrator_whose_confidence_is_none_is_refused(demo):
    calibration, test = demo

    class Doubled(Halved):
        def predict(self, confidence, proximity):
            return 2 * confidence

    with pytest.raises(ValueError, match="confidence lies in"):
        probs_of(fit(calibration, informed=Doubled()), test)


@pytest.mark.parametrize(
    ("base", "informed"),
    [
        ("temperature", px.DensityRatio),
        (px.Identity(), px.DensityRatio),
        ("isotonic", px.BinMeanShift),
        (px.HistogramBinning(), px.BinMeanShift),
    ],
)
def test_the_papers_settings_are_its_density_ratio_and_for_discrete_bases_its_bin_mean_shift(base, informed):
    calibrator = px.ProCal.paper(base=base)
    assert isinstance(calibrator.informed, informed)
    assert (calibrator.normalize, calibrator.rows, calibrator.n_neighbors) == (False, "paper", 10)


def test_the_papers_density_ratio_is_bayes_rule_with_its_kernels(demo):
    calibration, test = demo
    calibrator = px.ProCal.paper(rows="keep").fit(calibration.logits, calibration.labels, features=calibration.features)
    alone = px.DensityRatio(coordinates="paper", evaluation="exact").fit(
        calibrator.base_.predict_proba(calibration.logits).max(axis=1),
        px.Proximity(normalize=False).fit_score(calibration.features),
        calibration.logits.argmax(axis=1) == calibration.labels,
    )
    np.testing.assert_allclose(
        calibrator.confidence(test.logits, features=test.features),
        alone.predict(
            calibrator.base_.predict_proba(test.logits).max(axis=1), calibrator.proximity_.score(test.features)
        ),
    )


@pytest.mark.parametrize(
    ("informed", "expected"), [("auto", 50), ("neighborhood", 50), ("logistic", 10), ("density-ratio", 10), (None, 0)]
)
def test_more_neighbours_are_searched_only_where_evidence_is_wanted(informed, expected):
    assert px.ProCal(informed=informed)._n_searched() == expected


@pytest.mark.filterwarnings("ignore::proxcal.ProxcalWarning")
@pytest.mark.parametrize("n", [12, 30, 51])
def test_few_references_lend_as_many_neighbours_as_there_are(demo, n):
    calibration, test = demo
    calibrator = fit(calibration.take(np.arange(n)), informed="neighborhood")
    assert np.isfinite(probs_of(calibrator, test)).all()


def test_few_samples_leave_the_base_alone_and_say_so(demo):
    calibration, test = demo
    with pytest.warns(px.ProxcalWarning, match="60 calibration samples are too few"):
        calibrator = fit(calibration.take(np.arange(60)))
    assert calibrator.informed_ is None
    np.testing.assert_array_equal(probs_of(calibrator, test), calibrator.base_.predict_proba(test.logits))


@pytest.mark.filterwarnings("ignore::proxcal.ProxcalWarning")
@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("informed", [i for i in INFORMED if i])
@pytest.mark.parametrize(
    "change",
    [
        lambda z, y, x: (z, z.argmax(1), x),
        lambda z, y, x: (z, (z.argmax(1) + 1) % 4, x),
        lambda z, y, x: (np.zeros_like(z), y, x),
        lambda z, y, x: (1000 * z, y, x),
        lambda z, y, x: (z, y, np.ones_like(x)),
        lambda z, y, x: (z, y, np.repeat(x[::10], 10, axis=0)),
        lambda z, y, x: (z, np.minimum(y, 1), x),
        lambda z, y, x: (z[:, :2], np.minimum(y, 1), x),
        lambda z, y, x: (z.astype(np.float16), y, x.astype(np.float16)),
        lambda z, y, x: (z, y, 1e-4 * x),
        lambda z, y, x: (z[:11], y[:11], x[:11]),
    ],
    ids=[
        "all right", "all wrong", "equal logits", "saturated", "equal features", "duplicates", "absent classes",
        "two classes", "float16", "tiny features", "eleven samples",
    ],
)  # fmt: skip
def test_degenerate_sets_give_rows_that_sum_to_one(base, informed, change):
    rng = np.random.default_rng(0)
    z, x = rng.normal(size=(120, 4)), rng.normal(size=(120, 3))
    y = np.where(rng.random(120) < 0.6, z.argmax(axis=1), rng.integers(4, size=120))
    z, y, x = change(z, y, x)
    calibrator = px.ProCal(base=base, informed=informed).fit(z, y, features=x)
    probs = calibrator.predict_proba(z[:9], features=x[:9])
    np.testing.assert_allclose(probs.sum(axis=1), 1, atol=1e-12)
    assert probs.min() >= 0
    single = calibrator.predict_proba(z[:1], features=x[:1])
    np.testing.assert_array_equal(single[0], probs[0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"features": None}, "features is missing"),
        ({"features": np.ones((5, 3))}, "features has 5 samples; the other arguments have 60"),
        ({"labels": np.full(60, 4)}, "labels has 4 in row 0; with 4 classes it needs 0 to 3"),
        ({"labels": np.full(60, -1)}, "labels has -1 in row 0"),
        ({"labels": np.zeros((60, 2))}, "labels has shape"),
        ({"labels": np.zeros(59)}, "labels has 59 samples"),
        ({"scores": np.full((60, 4), np.nan)}, "logits has 240 values that are not finite"),
        ({"scores": np.zeros(60)}, "logits has shape"),
        ({"scores": np.zeros((60, 1))}, "logits has 1 column"),
        ({"scores": np.full((60, 4), 0.25)}, "these are probabilities"),
        ({"scores": np.array([["a"] * 4] * 60)}, "logits has dtype"),
        ({"settings": {"input": "probs"}}, r"probs has values outside \[0, 1\]"),
        ({"settings": {"input": "scores"}}, "input must be one of 'logits', 'probs'; got 'scores'"),
        ({"settings": {"rows": "maybe"}}, "rows must be one of"),
        ({"settings": {"base": "nothing"}}, "base must be one of"),
        ({"settings": {"informed": "nothing"}}, "informed must be one of"),
        ({"labels": np.full(60, np.nan)}, r"labels has 60 values that are not finite .*, the first in row 0"),
        ({"labels": np.full(60, 1e300)}, r"labels has 1e\+300 in row 0; with 4 classes it needs 0 to 3"),
        ({"labels": np.full(60, 0.5)}, "labels has dtype float64; it needs whole numbers from 0 to 3"),
        ({"settings": {"informed": 3}}, "informed must be a name, None, or an object with fit and predict; got 3"),
        ({"settings": {"informed": px.BinMeanShift}}, "informed must be a name, None, or an object .*BinMeanShift"),
        ({"settings": {"n_neighbors": 60}}, "n_neighbors is 60; the reference set has 60 samples"),
    ],
)
def test_bad_input_is_named(change, message):
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=(60, 4)), rng.integers(4, size=60)
    given = {"scores": scores, "labels": labels, "features": rng.normal(size=(60, 3)), "settings": {}} | change
    with pytest.raises(ValueError, match=message):
        px.ProCal(**given["settings"]).fit(given["scores"], given["labels"], features=given["features"])


def test_other_widths_than_at_fit_are_named(demo):
    calibration, test = demo
    calibrator = fit(calibration, informed="logistic")
    with pytest.raises(ValueError, match="features has 5 columns; the reference set has 64"):
        calibrator.confidence(test.logits, features=test.features[:, :5])
    with pytest.raises(ValueError, match="logits has 7 columns; the calibrator was fitted with 10 classes"):
        calibrator.confidence(test.logits[:, :7], features=test.features)


@pytest.mark.parametrize("method", ["confidence", "predict_proba", "predict"])
def test_use_before_fit_is_an_error(demo, method):
    with pytest.raises(NotFittedError):
        getattr(px.ProCal(), method)(demo[1].logits, features=demo[1].features)


def test_a_failed_fit_of_a_fitted_calibrator_leaves_it_as_it_was(demo):
    calibration, test = demo
    calibrator = fit(calibration)
    before = probs_of(calibrator, test)
    with pytest.raises(ValueError, match="labels"):
        calibrator.fit(calibration.logits, calibration.labels[:5], features=calibration.features)
    np.testing.assert_array_equal(probs_of(calibrator, test), before)


def test_clone_keeps_the_settings_and_nothing_else(demo):
    calibrator = fit(demo[0], base="identity", informed=None, n_neighbors=5)
    copied = clone(calibrator)
    assert copied.get_params() == calibrator.get_params()
    assert not hasattr(copied, "base_")


@pytest.fixture(scope="module")
def many_classes():
    """A hundred classes, 1 000 samples to learn from, and neighbours that tell something."""
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(100, 8))
    labels = rng.integers(100, size=3000)
    features = centers[labels] + 0.8 * rng.normal(size=(3000, 8))
    logits = 2 * (features @ centers.T - (centers**2).sum(axis=1) / 2) + rng.gumbel(size=(3000, 100))
    whole = px.Predictions(logits=logits, labels=labels, features=features)
    return whole.take(np.arange(1000)), whole.take(np.arange(1000, 3000))


@pytest.mark.filterwarnings("ignore::proxcal.ProxcalWarning")
@pytest.mark.parametrize("base", ["histogram", "isotonic"])
def test_a_base_that_fits_closely_is_corrected_as_new_samples_will_see_it(many_classes, base):
    calibration, test = many_classes
    nll = {}
    for cross_fit in (True, False):
        calibrator = fit(calibration, base=base, cross_fit=cross_fit)
        found = calibrator.calibrate(test.logits, features=test.features)
        nll[cross_fit] = px.nll(found.confidence, found.predicted == test.labels)
    alone = calibrator.base_.predict_proba(test.logits)
    assert nll[True] < nll[False] - 0.02
    assert nll[True] < px.nll(alone.max(axis=1), alone.argmax(axis=1) == test.labels)


def test_the_papers_settings_learn_from_the_bases_own_samples():
    assert not px.ProCal.paper(base="isotonic").cross_fit


@pytest.mark.parametrize("informed", ["auto", "logistic", None])
def test_the_chosen_base_its_record_and_what_it_says_survive_saving(demo, tmp_path, informed):
    calibration, test = demo
    calibrator = fit(calibration, base="auto", informed=informed)
    record = calibrator.selection_["base"]
    assert isinstance(calibrator.base_, proxcal.base.BASES[record["chosen"]])
    calibrator.save(tmp_path / "a.proxcal")
    loaded = px.ProCal.load(tmp_path / "a.proxcal")
    assert loaded.selection_ == calibrator.selection_
    np.testing.assert_array_equal(probs_of(loaded, test), probs_of(calibrator, test))


def test_choosing_the_base_leaves_the_record_of_the_informed_choice_as_it_was(demo):
    calibration, _ = demo
    chosen = fit(calibration, base="auto").selection_
    given = fit(calibration, base=chosen["base"]["chosen"]).selection_
    assert {key: value for key, value in chosen.items() if key != "base"} == given
