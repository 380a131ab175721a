"""A monitor on streams whose truth is known: confidence is right and features are normal, until they are not."""

import warnings

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.exceptions import NotFittedError

import proxcal as px


class AsItCame:
    """An informed step that does nothing, so that confidence is exactly the truth's."""

    def fit(self, confidence, proximity, correct):
        return self

    def predict(self, confidence, proximity):
        return confidence


def stream(n, seed, *, shift=0.0, wrong=0.0):
    """Labels drawn from the softmax of the logits, but for a share that is wrong; features around `shift`."""
    rng = np.random.default_rng(seed)
    logits, features = 2 * rng.normal(size=(n, 3)), rng.normal(size=(n, 4)) + shift
    labels = (softmax(logits, axis=1).cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    return logits, np.where(rng.random(n) < wrong, logits.argmin(axis=1), labels), features


def fitted(n=300, seed=0, **settings):
    settings = {"base": "identity", "informed": AsItCame(), "normalize": False} | settings
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", px.ProxcalWarning)
        logits, labels, features = stream(n, seed)
        return px.ProCal(**settings).fit(logits, labels, features=features)


def update(monitor, n, seed, **changes):
    logits, labels, features = stream(n, seed, **changes)
    return monitor.update(logits, features, labels)


@pytest.fixture(scope="module")
def calibrator():
    return fitted()


def test_without_drift_there_is_ever_an_alarm_at_most_as_often_as_stated():
    alarmed = []
    for trial in range(100):
        monitor = px.Monitor(window=60, false_alarms=0.4, tolerance=0.0).fit(fitted(120, seed=trial))
        alarmed.append(any(update(monitor, 30, 1000 + 10 * trial + i).drifted for i in range(5)))
    assert 0.1 < np.mean(alarmed) < 0.4


@pytest.mark.parametrize("n_looks", [1, 30])
def test_other_features_are_found_without_labels(calibrator, n_looks):
    monitor = px.Monitor(window=200).fit(calibrator)
    for i in range(n_looks):
        logits, _, features = stream(100, i + 1)
        assert not monitor.update(logits, features).drifted
    logits, _, features = stream(100, 99, shift=1.0)
    assert {"percentile", "low_share"} <= set(monitor.update(logits, features).drifted)


def test_a_gap_is_found_where_features_are_as_ever(calibrator):
    monitor = px.Monitor(window=300).fit(calibrator)
    assert not update(monitor, 150, 1).drifted
    assert update(monitor, 150, 2, wrong=0.4).drifted == ("gap",)


def test_a_gap_in_the_lowest_fifth_is_found_before_it_shows_overall(calibrator):
    monitor = px.Monitor(window=800).fit(calibrator)
    logits, labels, features = stream(800, 1)
    log_proximity = calibrator.proximity_.log_score(features)
    low = log_proximity < np.sort(calibrator.proximity_.log_score())[59]
    labels = np.where(low & (np.arange(800) % 5 < 2), logits.argmin(axis=1), labels)
    assert monitor.update(logits, features, labels).drifted == ("low_gap",)


def test_confidence_off_by_the_tolerance_is_no_gap(calibrator):
    strict, lenient = (px.Monitor(window=4000, tolerance=t).fit(calibrator) for t in (0.0, 0.15))
    assert "gap" in update(strict, 4000, 1, wrong=0.1).drifted
    assert not update(lenient, 4000, 1, wrong=0.1).drifted


def test_figures_are_those_of_the_last_samples(calibrator):
    monitor = px.Monitor(window=150).fit(calibrator)
    for seed in (1, 2):
        record = update(monitor, 100, seed)
    logits, labels, features = (
        np.concatenate(parts)[-150:] for parts in zip(stream(100, 1), stream(100, 2), strict=True)
    )
    normal, seen = calibrator.proximity_.log_score(), calibrator.proximity_.log_score(features)
    confidence, correct = softmax(logits, axis=1).max(axis=1), logits.argmax(axis=1) == labels
    low = seen < np.sort(normal)[59]
    assert (record.look, record.n_samples, record.n_labelled) == (2, 150, 150)
    assert record.log_proximity == pytest.approx(seen.mean())
    assert record.percentile.value == pytest.approx(np.mean(normal < seen[:, None]))
    assert record.low_share.value == np.mean(seen < np.sort(normal)[14])
    assert record.gap.value == pytest.approx(correct.mean() - confidence.mean())
    assert record.low_gap.value == pytest.approx(correct[low].mean() - confidence[low].mean())


def test_a_batch_longer_than_the_window_is_seen_whole(calibrator):
    assert update(px.Monitor(window=50).fit(calibrator), 120, 1).n_samples == 120


def test_without_labels_the_gap_is_not_known_and_its_window_waits(calibrator):
    monitor = px.Monitor(window=300).fit(calibrator)
    update(monitor, 100, 1)
    logits, labels, features = stream(100, 2)
    record = monitor.update(logits, features)
    assert (record.n_samples, record.n_labelled, record.gap, record.low_gap) == (200, 100, None, None)
    assert monitor.update(logits, features, labels).n_labelled == 200


def test_intervals_widen_from_look_to_look(calibrator):
    monitor = px.Monitor(window=100).fit(calibrator)
    first, second = (update(monitor, 100, seed) for seed in (1, 2))
    assert second.percentile.high > first.percentile.high
    assert second.low_share.high >= first.low_share.high


def test_what_is_normal_are_the_references_each_left_out(calibrator):
    monitor = px.Monitor().fit(calibrator)
    np.testing.assert_array_equal(monitor.normal_, np.sort(calibrator.proximity_.log_score()))


def test_a_part_of_the_references_shows_what_is_normal(calibrator):
    some = px.Monitor(n_normal=120).fit(calibrator).normal_
    assert len(some) == 120
    assert np.isin(some, calibrator.proximity_.log_score()).all()


@pytest.mark.parametrize("compression", [{"n_components": 2}, {"n_references": 200}, {}])
def test_a_compressed_calibrator_is_watched_by_its_own_measure(calibrator, compression):
    smaller = calibrator.compress(**compression)
    record = update(px.Monitor().fit(smaller), 400, 1)
    assert not record.drifted


def test_references_chosen_by_k_centre_do_not_show_what_is_normal(calibrator):
    smaller = calibrator.compress(n_references=150, coreset="k-centre")
    with pytest.raises(ValueError, match="features are missing: references chosen by k-centre"):
        px.Monitor().fit(smaller)
    assert not update(px.Monitor().fit(smaller, stream(300, 5)[2]), 400, 1).drifted


def test_a_monitor_that_was_saved_goes_on_where_it_was(calibrator, tmp_path):
    through, saved = px.Monitor(window=150).fit(calibrator), px.Monitor(window=150).fit(calibrator)
    for monitor in (through, saved):
        update(monitor, 100, 1)
    saved.save(tmp_path / "state.proxcal")
    loaded = px.Monitor.load(tmp_path / "state.proxcal", calibrator)
    assert update(loaded, 100, 2) == update(through, 100, 2)


def test_a_monitor_of_other_references_is_refused(calibrator, tmp_path):
    px.Monitor().fit(calibrator).save(tmp_path / "state.proxcal")
    with pytest.raises(ValueError, match="begun with other references than the calibrator's"):
        px.Monitor.load(tmp_path / "state.proxcal", fitted(seed=7))


def test_bare_confidences_are_watched_too():
    logits, labels, features = stream(300, 0)
    confidence, correct = softmax(logits, axis=1).max(axis=1), logits.argmax(axis=1) == labels
    bare = px.ProCal(base="identity", informed=AsItCame()).fit_confidence(confidence, correct, features=features)
    monitor = px.Monitor().fit(bare)
    record = monitor.update(confidence, features, correct)
    assert record.gap.value == pytest.approx(correct.mean() - confidence.mean())
    assert monitor.update(confidence, features).gap is None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"window": 0}, "window must be a whole number of at least 1"),
        ({"false_alarms": 0}, "false_alarms must be a number in"),
        ({"tolerance": -0.1}, "tolerance must be a number in"),
        ({"n_normal": 10}, "n_normal must be a whole number of at least 100"),
    ],
)
def test_a_wrong_setting_is_named(calibrator, settings, message):
    with pytest.raises(ValueError, match=message):
        px.Monitor(**settings).fit(calibrator)


def test_too_few_normal_samples_are_refused(calibrator):
    with pytest.raises(ValueError, match="20 samples show what is normal; 100 or more are needed"):
        px.Monitor().fit(calibrator, stream(20, 1)[2])


def test_a_calibrator_without_references_cannot_be_watched():
    with pytest.raises(ValueError, match="no references are kept to watch"):
        px.Monitor().fit(fitted(informed=None))


def test_a_batch_without_features_is_refused(calibrator):
    with pytest.raises(ValueError, match="features is missing"):
        px.Monitor().fit(calibrator).update(stream(10, 1)[0], None)


def test_labels_of_unknown_classes_change_nothing(calibrator):
    monitor = px.Monitor().fit(calibrator)
    logits, labels, features = stream(10, 1)
    with pytest.raises(ValueError, match="with 3 classes it needs 0 to 2"):
        monitor.update(logits, features, labels + 1)
    assert monitor.n_looks_ == 0


def test_it_must_be_fitted_first():
    with pytest.raises(NotFittedError):
        px.Monitor().update(*stream(10, 1))


def test_a_file_of_something_else_is_refused(calibrator, tmp_path):
    fitted(informed="bin-mean-shift").save(tmp_path / "model.proxcal")
    with pytest.raises(ValueError, match="holds a ProCal, not a Monitor"):
        px.Monitor.load(tmp_path / "model.proxcal", calibrator)
