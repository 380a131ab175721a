"""A base that sees neighbours, as simple as can be: rows are the labels of the nearest, counted."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from proxcal.base import make_base
from proxcal.base._neighbor import NeighborCalibrator
from proxcal.procal import ProCal
from proxcal.proximity import Proximity


class Counts(NeighborCalibrator):
    """Shares of the labels among the three nearest, half a count added to each."""

    def __init__(self, *, proximity=None, input="logits"):
        self.proximity = proximity
        self.input = input

    @property
    def n_searched(self):
        return 3

    def _fit_near(self, scores, labels, neighbors):
        self.reference_labels_ = np.empty(0, dtype=np.int32)
        self.remember(scores, labels)
        self.distance_ = float(neighbors.nearest(3).distances.mean())

    def remember(self, scores, labels):
        self.reference_labels_ = np.concatenate([self.reference_labels_, labels.astype(np.int32)])

    def _rows_near(self, scores, neighbors):
        votes = self.reference_labels_[neighbors.nearest(3).indices][:, :, None] == np.arange(self.n_classes_)
        counts = votes.sum(axis=1) + 0.5
        return counts / counts.sum(axis=1, keepdims=True)


@pytest.fixture
def samples():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(60, 4))
    return 3 * rng.normal(size=(60, 3)), features[:, :3].argmax(axis=1), features


def test_alone_it_searches_the_calibration_samples_itself(samples):
    scores, labels, features = samples
    fitted = Counts().fit(scores, labels, features)
    found = Proximity(n_neighbors=3).fit(features).neighbors(features[:5] + 0.1, 3).indices
    expected = (labels[found][:, :, None] == np.arange(3)).sum(axis=1) + 0.5
    np.testing.assert_allclose(
        fitted.predict_proba(scores[:5], features[:5] + 0.1), expected / expected.sum(axis=1, keepdims=True)
    )


def test_no_calibration_sample_is_its_own_neighbour(samples):
    scores, labels, features = samples
    assert Counts().fit(scores, labels, features).distance_ == pytest.approx(
        Proximity(n_neighbors=3).fit(features).neighbors().distances.mean()
    )


def test_its_search_is_the_one_it_was_given(samples):
    scores, labels, features = samples
    given = Proximity(metric="cosine", n_neighbors=20)
    fitted = Counts(proximity=given).fit(scores, labels, features)
    assert fitted.proximity_.metric == "cosine"
    assert not hasattr(given, "references_")


def test_within_procal_it_gives_what_it_gives_alone(samples):
    scores, labels, features = samples
    within = ProCal(base=Counts(), informed="bin-mean-shift", rows="keep").fit(scores, labels, features=features)
    alone = Counts().fit(scores, labels, features)
    np.testing.assert_array_equal(
        within.predict(scores[:20], features=features[:20] + 0.1), alone.predict(scores[:20], features[:20] + 0.1)
    )
    assert within.base_.distance_ == alone.distance_


def test_within_procal_it_holds_no_features(samples):
    scores, labels, features = samples
    within = ProCal(base=Counts(), informed=None).fit(scores, labels, features=features)
    assert "proximity_" not in within.base_.state_arrays()
    with pytest.raises(ValueError, match="was fitted within a ProCal"):
        within.base_.predict_proba(scores, features)


def test_a_row_does_not_depend_on_the_rows_around_it(samples):
    scores, labels, features = samples
    fitted = Counts().fit(scores, labels, features)
    whole = fitted.predict_proba(scores, features)
    np.testing.assert_array_equal(whole[7:8], fitted.predict_proba(scores[7:8], features[7:8]))


@pytest.mark.parametrize("n", [2, 3, 4])
def test_fewer_references_than_neighbours_wanted_are_all_seen(samples, n):
    scores, labels, features = (a[:n] for a in samples)
    fitted = Counts().fit(scores, labels, features)
    assert np.isfinite(fitted.predict_proba(scores, features)).all()


def test_one_sample_has_no_neighbours_and_is_refused(samples):
    scores, labels, features = (a[:1] for a in samples)
    with pytest.raises(ValueError, match="the reference set has 1 samples"):
        Counts().fit(scores, labels, features)


def test_further_references_are_seen_like_the_first(samples):
    scores, labels, features = samples
    grown = Counts().fit(scores[:30], labels[:30], features[:30])
    grown.add_references(features[30:], labels[30:], scores[30:])
    whole = Counts().fit(scores, labels, features)
    np.testing.assert_array_equal(grown.predict_proba(scores, features), whole.predict_proba(scores, features))


def test_refused_references_leave_it_as_it_was(samples):
    scores, labels, features = samples
    fitted = Counts().fit(scores, labels, features)
    before = fitted.predict_proba(scores, features)
    for bad in ((features[:3], labels[:2], scores[:3]), (features[:3, :2], labels[:3], scores[:3])):
        with pytest.raises(ValueError, match=r"y has 2 samples|features has 2 columns"):
            fitted.add_references(*bad)
    np.testing.assert_array_equal(fitted.predict_proba(scores, features), before)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"features": None}, "features is missing"),
        ({"features": np.ones((5, 4))}, "features has 5 samples; the other arguments have 60"),
        ({"labels": np.full(60, 3)}, "y has 3 in row 0"),
    ],
)
def test_bad_input_is_named(samples, change, message):
    scores, labels, features = samples
    given = {"labels": labels, "features": features} | change
    with pytest.raises(ValueError, match=message):
        Counts().fit(scores, given["labels"], given["features"])


def test_other_widths_than_at_fit_are_named(samples):
    fitted = Counts().fit(*samples)
    with pytest.raises(ValueError, match="features has 2 columns; the reference set has 4"):
        fitted.predict_proba(samples[0], samples[2][:, :2])


def test_neighbours_left_out_within_procal_are_named(samples):
    scores, labels, _ = samples
    with pytest.raises(ValueError, match="features is missing"):
        ProCal(base=Counts(), informed=None).fit(scores, labels)
    with pytest.raises(ValueError, match="features is missing"):
        Counts().fit_with(scores, labels)


def test_use_before_fit_is_an_error(samples):
    with pytest.raises(NotFittedError):
        Counts().predict_proba(samples[0], samples[2])


def test_as_a_base_it_is_copied_with_its_settings():
    given = Counts(proximity=Proximity(metric="cosine"))
    copied = make_base(given)
    assert copied is not given
    assert repr(clone(given)) == repr(copied) == repr(given)
