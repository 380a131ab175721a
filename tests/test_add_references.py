"""Labelled samples as further references of a fitted ProCal, against the same computed from all of them at once."""

import warnings
from copy import deepcopy
from functools import cache

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import proxcal as px
from proxcal.base._growth import grown
from proxcal.proximity import Neighbors


def samples(n, seed):
    """A model that errs in one part of the space, where its neighbours know better."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, 5))
    labels = features[:, :3].argmax(axis=1)
    logits = features[:, :3] * np.sign(features[:, 3:4] + 1) + rng.gumbel(size=(n, 3))
    return logits, labels, features


FIRST, FURTHER, TEST = samples(500, 0), samples(700, 1), samples(200, 2)
BOTH = tuple(np.concatenate(parts) for parts in zip(FIRST, FURTHER, strict=True))


@cache
def fitted(**settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", px.ProxcalWarning)
        return px.ProCal(**{"informed": "neighborhood"} | settings).fit(*FIRST)


def fit(**settings):
    """A copy, which a test may change."""
    return deepcopy(fitted(**settings))


def grow(calibrator, part=slice(None)):
    logits, labels, features = (a[part] for a in FURTHER)
    return calibrator.add_references(features, labels, logits)


def on_test(calibrator):
    return calibrator.predict_proba(TEST[0], TEST[2])


def test_it_equals_all_references_at_once_under_the_old_weights():
    calibrator = fit()
    search = px.Proximity().fit(BOTH[2])
    rows, top = calibrator.base_.predict_proba(BOTH[0]), calibrator.base_.predict_proba(TEST[0])
    seen = px.evidence(
        search.neighbors(TEST[2], 50), top.argmax(axis=1), BOTH[1], rows.argmax(axis=1), rows.max(axis=1)
    )
    expected = calibrator.informed_.predict(top.max(axis=1), search.log_score(TEST[2]), seen)
    np.testing.assert_allclose(grow(calibrator).confidence(TEST[0], TEST[2]), expected, rtol=1e-12)


def test_a_base_that_fits_closely_has_not_seen_further_references():
    calibrator = fit(base="isotonic")
    held_out, further = calibrator.reference_confidence_, calibrator.base_.predict_proba(FURTHER[0]).max(axis=1)
    np.testing.assert_array_equal(grow(calibrator).reference_confidence_, np.concatenate([held_out, further]))


@pytest.mark.parametrize("informed", ["logistic", "density-ratio", None])
def test_neighbor_votes_of_all_references_under_the_old_weights(informed):
    calibrator = grow(fit(base="neighbor-votes", informed=informed))
    alone = px.NeighborVotes().fit(*FIRST)
    alone.add_references(FURTHER[2], FURTHER[1], FURTHER[0])
    rows = alone.predict_proba(TEST[0], TEST[2])
    np.testing.assert_array_equal(calibrator.predict(TEST[0], TEST[2]), rows.argmax(axis=1))
    if informed is None:
        np.testing.assert_array_equal(on_test(calibrator), rows)


def test_all_that_looks_at_references_sees_the_further_ones():
    calibrator = grow(fit(base="neighbor-votes"))
    held = calibrator.reference_labels_, calibrator.reference_predictions_, calibrator.reference_confidence_
    assert {len(one) for one in (*held, calibrator.proximity_.references_, calibrator.base_.reference_labels_)} == {
        1200
    }
    np.testing.assert_array_equal(calibrator.reference_labels_, BOTH[1])
    np.testing.assert_array_equal(calibrator.base_.reference_labels_, BOTH[1])
    before = fit(base="neighbor-votes").calibrate(TEST[0], TEST[2])
    assert (calibrator.calibrate(TEST[0], TEST[2]).log_proximity > before.log_proximity).mean() > 0.95


def test_what_was_learned_stays():
    before, after = fit(base="neighbor-votes"), grow(fit(base="neighbor-votes"))
    np.testing.assert_array_equal(before.base_.weights_, after.base_.weights_)
    assert before.base_.temperature_ == after.base_.temperature_
    assert before.base_.bandwidth_ == after.base_.bandwidth_
    assert before.selection_ == after.selection_
    assert before.exponent_ == after.exponent_


def test_in_two_parts_it_is_what_it_is_in_one():
    whole, parts = grow(fit()), grow(grow(fit(), slice(300)), slice(300, None))
    np.testing.assert_array_equal(on_test(whole), on_test(parts))


def test_labels_of_the_same_kind_make_it_more_accurate():
    calibrator = fit(base="neighbor-votes")
    before = px.multiclass_nll(on_test(calibrator), TEST[1])
    assert px.multiclass_nll(on_test(grow(calibrator)), TEST[1]) < before


@pytest.mark.parametrize("base", ["temperature", "neighbor-temperature", "neighbor-votes"])
def test_it_survives_saving_and_can_grow_on(tmp_path, base):
    calibrator = grow(fit(base=base), slice(300))
    calibrator.save(tmp_path / "a.proxcal")
    loaded = px.ProCal.load(tmp_path / "a.proxcal")
    np.testing.assert_array_equal(on_test(loaded), on_test(calibrator))
    np.testing.assert_array_equal(on_test(grow(loaded, slice(300, None))), on_test(grow(calibrator, slice(300, None))))


def test_a_further_reference_is_not_its_own_neighbour():
    fitted = px.NeighborVotes().fit(*FIRST)
    for _ in range(2):  # the second time each has a duplicate, which is its neighbour
        search, base, top = grown(fitted.proximity_, fitted, FURTHER[2], FURTHER[1], FURTHER[0])
        n = len(search.references_)
        slow = search.neighbors(k=50).take(slice(n - 700, n))
        rows = np.concatenate([rows for _, rows in base.blocks(FURTHER[0], slow)])
        np.testing.assert_allclose(top.confidence, rows.max(axis=1), rtol=1e-12)
        fitted.add_references(FURTHER[2], FURTHER[1], FURTHER[0])


def test_without_leaves_out_the_sample_or_else_the_farthest():
    found = Neighbors(np.array([[0.0, 1, 2], [0, 1, 2], [0, 1, 2]]), np.array([[7, 8, 9]] * 3))
    np.testing.assert_array_equal(found.without(np.array([7, 8, 5])).indices, [[8, 9], [7, 9], [7, 8]])
    np.testing.assert_array_equal(found.without(np.array([7, 8, 5])).distances, [[1, 2], [0, 2], [0, 1]])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"features": FURTHER[2][:, :2]}, "features has 2 columns; the reference set has 5"),
        ({"features": FURTHER[2][:9]}, "features has 9 samples"),
        ({"features": np.full_like(FURTHER[2], np.nan)}, "features has 3500 values that are not finite"),
        ({"features": 1e18 * FURTHER[2]}, "features reach .* rescale them"),
        ({"labels": FURTHER[1] + 1}, "labels has 3 in row"),
        ({"labels": FURTHER[1][:3]}, "labels has 3 samples"),
        ({"scores": FURTHER[0][:, :2]}, "logits has 2 columns; the calibrator was fitted with 3 classes"),
    ],
)
@pytest.mark.parametrize("base", ["temperature", "neighbor-votes"])
def test_refused_references_leave_it_as_it_was(base, change, message):
    calibrator = fit(base=base)
    before = on_test(calibrator)
    with pytest.raises(ValueError, match=message):
        calibrator.add_references(**({"scores": FURTHER[0], "labels": FURTHER[1], "features": FURTHER[2]} | change))
    np.testing.assert_array_equal(on_test(calibrator), before)
    assert len(calibrator.proximity_.references_) == len(FIRST[2])


def test_where_nothing_looks_at_references_it_says_so():
    with pytest.raises(ValueError, match="asks for no neighbours"):
        grow(fit(informed=None))


def test_before_fit_is_an_error():
    with pytest.raises(NotFittedError):
        grow(px.ProCal())
