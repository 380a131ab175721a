"""A ProCal whose references take less memory."""

import warnings
from functools import cache

import numpy as np
import pytest

import proxcal as px


@cache
def halves():
    return px.load_demo().take(np.arange(2000)).split(0.5)


@cache
def whole(**settings):
    calibration, _ = halves()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", px.ProxcalWarning)
        return px.ProCal(**settings).fit(calibration.logits, calibration.labels, features=calibration.features)


def on_test(calibrator):
    test = halves()[1]
    return calibrator.confidence(test.logits, features=test.features)


KINDS = [
    {"informed": "neighborhood"},
    {"informed": "logistic"},
    {"informed": "density-ratio"},
    {"base": "neighbor-votes"},
    {"base": "neighbor-votes", "informed": None},
    {"base": "isotonic"},
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("settings", [{}, {"n_components": 8}, {"n_references": 300}])
def test_it_is_saved_and_loaded_bit_for_bit(kind, settings, tmp_path):
    small = whole(**kind).compress(**settings)
    small.save(tmp_path / "small.proxcal")
    np.testing.assert_array_equal(on_test(px.ProCal.load(tmp_path / "small.proxcal")), on_test(small))


@pytest.mark.parametrize("kind", KINDS)
def test_all_references_in_their_own_type_change_nothing(kind):
    small = whole(**kind).compress(dtype=None, n_references=1000)
    np.testing.assert_allclose(on_test(small), on_test(whole(**kind)), rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_float16_moves_no_confidence_by_more_than_a_point(kind):
    assert np.abs(on_test(whole(**kind).compress()) - on_test(whole(**kind))).max() < 0.01


def test_labels_predictions_and_votes_follow_the_references_kept():
    calibrator = whole(base="neighbor-votes", informed="neighborhood")
    small = calibrator.compress(dtype=None, n_references=300)
    place = {row.tobytes(): i for i, row in enumerate(calibrator.proximity_.references_)}
    kept = [place[row.tobytes()] for row in small.proximity_.references_]
    for name in ("reference_labels_", "reference_predictions_", "reference_confidence_"):
        np.testing.assert_array_equal(getattr(small, name), getattr(calibrator, name)[kept])
    for name in ("reference_labels_", "reference_probs_", "reference_classes_"):
        np.testing.assert_array_equal(getattr(small.base_, name), getattr(calibrator.base_, name)[kept])


def test_with_fewer_references_proximity_is_judged_on_its_new_scale():
    calibrator = whole(informed="logistic")
    small = calibrator.compress(n_references=100)
    mean = np.mean(small.informed_.proximity_scores_.transform(small.proximity_.log_score(halves()[1].features)))
    old = np.mean(calibrator.informed_.proximity_scores_.transform(small.proximity_.log_score(halves()[1].features)))
    assert abs(mean) < 0.1 < abs(old)


def test_what_is_compressed_stays_as_it_was():
    before = on_test(whole(base="neighbor-votes"))
    whole(base="neighbor-votes").compress(n_references=200)
    np.testing.assert_array_equal(on_test(whole(base="neighbor-votes")), before)


def test_compressed_references_grow():
    test = halves()[1]
    small = whole(informed="neighborhood").compress(n_references=300)
    small.add_references(test.features[:50], test.labels[:50], test.logits[:50])
    assert len(small.proximity_.references_) == len(small.reference_labels_) == 350
    assert small.proximity_.references_.dtype == np.float16


def test_bare_confidences_are_compressed_too():
    calibration, test = halves()
    confidence = calibration.logits.max(axis=1) / (1 + calibration.logits.max(axis=1))
    right = calibration.logits.argmax(axis=1) == calibration.labels
    calibrator = px.ProCal(informed="neighborhood").fit_confidence(confidence, right, calibration.features)
    small = calibrator.compress(n_references=500)
    found = small.confidence(confidence[:20], test.features[:20])
    assert np.all((found >= 0) & (found <= 1))


def test_without_references_it_says_so():
    with pytest.raises(ValueError, match="asks for no neighbours, so no references are kept to compress"):
        whole(informed=None).compress()


def test_the_report_of_no_compression_is_no_change():
    calibrator = whole(informed="neighborhood")
    report = px.compression_report(calibrator, calibrator, halves()[1])
    assert (report.spearman, report.largest_error) == (pytest.approx(1), 0)
    assert report.piece_before == report.piece_after
    assert report.megabytes_before == report.megabytes_after


def test_the_report_is_what_the_measures_say():
    calibrator, test = whole(informed="neighborhood"), halves()[1]
    small = calibrator.compress(n_references=200)
    report = px.compression_report(calibrator, small, test)
    before, after = (one.proximity_.log_score(test.features) for one in (calibrator, small))
    correct = small.predict(test.logits, test.features) == test.labels
    assert report.largest_error == np.abs(before - after).max()
    assert report.piece_after == px.piece(on_test(small), correct, before)
    assert str(report).splitlines()[0].startswith("references ")


def test_the_report_of_a_bare_search_is_of_the_models_confidence():
    calibration, test = halves()
    search = px.Proximity().fit(calibration.features)
    report = px.compression_report(search, search.compress(n_components=4), test)
    probs = px.TemperatureScaling.from_state({}, {"temperature_": 1.0, "n_classes_": 10}).predict_proba(test.logits)
    correct = probs.argmax(axis=1) == test.labels
    assert report.piece_before == pytest.approx(px.piece(probs.max(axis=1), correct, search.score(test.features)))
    assert report.piece_after != report.piece_before


def test_a_report_needs_labels():
    calibrator, test = whole(informed="neighborhood"), halves()[1]
    bare = px.Predictions(logits=test.logits, features=test.features)
    with pytest.raises(ValueError, match="samples has no labels"):
        px.compression_report(calibrator, calibrator, bare)
