import numpy as np
import pytest
from scipy.special import softmax

import proxcal as px
from proxcal._validation import ProxcalWarning
from proxcal.base.neighbor_temperature import NeighborTemperatureScaling
from proxcal.base.parameterized_temperature import ParameterizedTemperatureScaling
from proxcal.base.temperature import TemperatureScaling
from proxcal.procal import ProCal
from proxcal.proximity import Proximity

SEARCH = Proximity(normalize=False)


def log_loss(probs, labels):
    return -np.log(probs[np.arange(len(labels)), labels]).mean()


def near_and_far(n=3000, seed=0):
    """Logits that are right near the references' middle and twice too large far from it; and the true rows."""
    rng = np.random.default_rng(seed)
    far = rng.random(n) < 0.5
    features = rng.normal(size=(n, 3)) * np.where(far, 20, 1)[:, None]
    logits = 3 * rng.normal(size=(n, 6))
    true = logits / np.where(np.abs(features).max(axis=1) > 4, 2, 1)[:, None]
    return logits, (true + rng.gumbel(size=true.shape)).argmax(axis=1), features, softmax(true, axis=1)


@pytest.fixture(scope="module")
def fitted():
    return NeighborTemperatureScaling(proximity=SEARCH).fit(*near_and_far()[:3])


def test_it_learns_what_the_logits_do_not_tell(fitted):
    logits, labels, features, truth = near_and_far(seed=1)
    least = log_loss(truth, labels)
    plain, blind = (
        method().fit(*near_and_far()[:2]) for method in (TemperatureScaling, ParameterizedTemperatureScaling)
    )
    excess = log_loss(fitted.predict_proba(logits, features), labels) - least
    for other in (plain, blind):
        assert excess < 0.35 * (log_loss(other.predict_proba(logits), labels) - least)


def test_its_losses_on_the_calibration_set_are_what_it_says(fitted):
    logits, labels, features, _ = near_and_far()
    neighbors = Proximity(normalize=False, n_neighbors=10).fit(features).neighbors()
    rows = np.concatenate([probs for _, probs in fitted.blocks(logits, neighbors)])
    assert fitted.loss_ == pytest.approx(log_loss(rows, labels), abs=1e-6)
    plain = TemperatureScaling().fit(logits, labels).predict_proba(logits)
    assert fitted.plain_loss_ == pytest.approx(log_loss(plain, labels), abs=1e-6)


@pytest.mark.parametrize("loss", ["log", "brier"])
@pytest.mark.parametrize("n", [20, 300])
def test_on_its_own_calibration_set_it_is_never_worse_than_plain_temperature_scaling(loss, n):
    for seed in range(3):
        fitted = NeighborTemperatureScaling(loss=loss).fit(*near_and_far(n, seed)[:3])
        assert fitted.loss_ <= fitted.plain_loss_


def test_no_prediction_changes(fitted):
    logits, _, features, _ = near_and_far(seed=1)
    np.testing.assert_array_equal(fitted.predict(logits, features), logits.argmax(axis=1))


def test_the_same_random_state_gives_the_same_bit_for_bit():
    first, second = (NeighborTemperatureScaling(random_state=3).fit(*near_and_far(400)[:3]).network_ for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_the_scale_of_the_features_changes_nothing():
    logits, labels, features, _ = near_and_far(500)
    plain = NeighborTemperatureScaling(proximity=SEARCH).fit(logits, labels, features)
    larger = NeighborTemperatureScaling(proximity=SEARCH).fit(logits, labels, 1024 * features)
    np.testing.assert_allclose(
        larger.predict_proba(logits, 1024 * features), plain.predict_proba(logits, features), atol=1e-3
    )


def test_features_that_are_all_the_same_give_finite_rows_near_and_far():
    logits, labels, _, _ = near_and_far(500)
    fitted = NeighborTemperatureScaling().fit(logits, labels, np.ones((500, 2)))
    assert np.isfinite(fitted.predict_proba(logits, np.ones((500, 2)))).all()
    assert np.isfinite(fitted.predict_proba(logits, 1 - 2 * np.ones((500, 2)))).all()


def test_all_right_set_is_plain_temperature_scaling():
    logits, _, features, _ = near_and_far(300)
    with pytest.warns(ProxcalWarning, match="smoothed"):
        fitted = NeighborTemperatureScaling().fit(logits, logits.argmax(axis=1), features)
    with pytest.warns(ProxcalWarning, match="smoothed"):
        plain = TemperatureScaling().fit(logits, logits.argmax(axis=1))
    np.testing.assert_array_equal(fitted.predict_proba(logits, features), plain.predict_proba(logits))


@pytest.mark.parametrize("informed", ["auto", "logistic", None])
def test_procals_one_search_serves_it(monkeypatch, informed):
    searches = []
    search = Proximity.neighbors
    monkeypatch.setattr(Proximity, "neighbors", lambda self, *a, **kw: searches.append(1) or search(self, *a, **kw))
    logits, labels, features, _ = near_and_far(400)
    calibrator = ProCal(base="neighbor-temperature", informed=informed).fit(logits, labels, features)
    calibrator.predict_proba(logits[:50], features[:50])
    assert len(searches) == 2  # one to fit, one to apply


def test_within_procal_it_is_what_it_is_alone_and_survives_saving(tmp_path):
    logits, labels, features, _ = near_and_far(400)
    within = ProCal(base="neighbor-temperature", informed=None).fit(logits, labels, features)
    within.save(tmp_path / "a.proxcal")
    alone = NeighborTemperatureScaling().fit(logits, labels, features)
    fresh, _, fresh_features, _ = near_and_far(100, seed=1)
    rows = alone.predict_proba(fresh, fresh_features)
    np.testing.assert_array_equal(within.predict_proba(fresh, fresh_features), rows)
    np.testing.assert_array_equal(px.ProCal.load(tmp_path / "a.proxcal").predict_proba(fresh, fresh_features), rows)


def test_more_references_than_at_fit_add_no_inputs():
    logits, labels, features, _ = near_and_far(40)
    fitted = NeighborTemperatureScaling().fit(logits[:6], labels[:6], features[:6])
    assert fitted.n_seen_ == 5
    fitted.add_references(features[6:], labels[6:], logits[6:])
    assert np.isfinite(fitted.predict_proba(logits, features)).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"loss": "mse"}, "loss must be one of 'log', 'brier'; got 'mse'"), ({"n_neighbors": 0}, "n_neighbors must be")],
)
def test_bad_settings_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        NeighborTemperatureScaling(**settings).fit(*near_and_far(50)[:3])
