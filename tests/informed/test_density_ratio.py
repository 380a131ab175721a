import tracemalloc
import warnings

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import norm, rankdata
from sklearn.exceptions import NotFittedError

from proxcal import ProxcalWarning, _store
from proxcal.informed import DensityRatio, NormalScores, _kde

VARIANTS = [
    {"coordinates": coordinates, "prior": prior}
    for coordinates in ("normal", "paper")
    for prior in ("confidence", "share")
]
ALL = [variant | {"evaluation": evaluation} for variant in VARIANTS for evaluation in ("grid", "exact")]


def draw(n, seed=0):
    """Overconfident where proximity is low, a twentieth of all confidences exactly 1."""
    rng = np.random.default_rng(seed)
    proximity = rng.beta(2, 3, n)
    odds = rng.normal(1.5, 1.5, n)
    confidence = np.where(rng.random(n) < 0.05, 1.0, expit(odds))
    return confidence, proximity, rng.random(n) < expit(odds + 3 * (proximity - 0.4))


def slow_kernel_sums(points, samples, weights, bandwidth):
    kernel = np.exp(-0.5 * np.sum(((points[:, None] - samples) / bandwidth) ** 2, axis=2))
    return kernel @ weights


def reference_bandwidth(samples):
    return 1.06 * samples.std(axis=0) * len(samples) ** (-1 / 6)


def normal_scores(values):
    return norm.ppf((rankdata(values) - 0.5) / len(values))


def test_paper_coordinates_are_statsmodels_densities_in_bayes_rule():
    from statsmodels.nonparametric.kernel_density import KDEMultivariate

    confidence, proximity, correct = draw(600)
    samples, points = np.column_stack([confidence, proximity]), np.column_stack(draw(300, seed=1)[:2])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        right, wrong = (
            KDEMultivariate(samples[side], "cc", "normal_reference").pdf(points) for side in (correct, ~correct)
        )
    gamma = np.sum(~correct) / np.sum(correct)
    found = DensityRatio(coordinates="paper", evaluation="exact").fit(confidence, proximity, correct).predict(*points.T)
    np.testing.assert_allclose(found, right / (right + gamma * wrong), atol=1e-9)


def test_the_share_prior_is_bayes_rule_on_normal_scores():
    confidence, proximity, correct = draw(300)
    points = np.column_stack([normal_scores(confidence), normal_scores(proximity)])
    right, wrong = (
        slow_kernel_sums(points, points[side], np.ones(side.sum()), reference_bandwidth(points[side]))
        / np.prod(reference_bandwidth(points[side]))
        for side in (correct, ~correct)
    )
    fitted = DensityRatio(prior="share", evaluation="exact").fit(confidence, proximity, correct)
    np.testing.assert_allclose(fitted.predict(confidence, proximity), right / (right + wrong), atol=1e-9)


def test_the_confidence_prior_weighs_what_was_seen_against_what_was_foretold():
    confidence, proximity, correct = draw(300)
    fitted = DensityRatio(evaluation="exact").fit(confidence, proximity, correct)
    foretold, share = fitted.foretold_, correct.mean()
    points = np.column_stack([normal_scores(confidence), normal_scores(proximity)])
    weights = np.column_stack([correct, foretold, ~correct, 1 - foretold])
    sums = slow_kernel_sums(points, points, weights, 2.5 * reference_bandwidth(points))
    right, right_foretold, wrong, wrong_foretold = (sums + np.array([share, share, 1 - share, 1 - share])).T
    odds = foretold / (1 - foretold) * (right / right_foretold) / (wrong / wrong_foretold)
    np.testing.assert_allclose(fitted.predict(confidence, proximity), odds / (1 + odds), atol=1e-9)


@pytest.mark.parametrize(("slope", "expected"), [(1.0, 1.0), (0.4, 0.4)])
def test_the_prior_is_straightened_only_where_the_base_is_off(slope, expected):
    rng = np.random.default_rng(0)
    odds = rng.normal(1, 2, 20_000)
    correct = rng.random(20_000) < expit(slope * odds)
    fitted = DensityRatio().fit(expit(odds), rng.random(20_000), correct)
    np.testing.assert_allclose(fitted.prior_line_, [0, expected], atol=0.05)


def test_a_base_that_claims_certainty_is_not_believed_beyond_its_samples():
    rng = np.random.default_rng(0)
    confidence = rng.choice([0.5, 1.0], 200)
    fitted = DensityRatio().fit(confidence, rng.random(200), rng.random(200) < confidence)
    assert 1e-4 < 1 - fitted.predict([1.0], [0.5])[0] < 0.02


def several(kind, seed):
    """Few or piled-up samples, and points among and far from them."""
    rng = np.random.default_rng(seed)
    n = rng.choice([6, 30, 200])
    if kind == "smooth":
        confidence, proximity = rng.random(n), rng.random(n)
    elif kind == "piled":
        confidence, proximity = rng.choice([0.0, 0.2, 0.5, 1.0], n), rng.choice([0.1, 0.2, 0.9], n)
    else:
        confidence = rng.choice([0.3, 0.6, 0.9], n) + 0.001 * rng.normal(size=n)
        proximity = np.exp(-np.exp(2 * rng.normal(size=n)))
    correct = np.arange(n) < rng.integers(2, n - 1)
    rng.shuffle(correct)
    points = np.concatenate([confidence, rng.random(200)]), np.concatenate([proximity, rng.random(200)])
    return (confidence, proximity, correct), points


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("kind", ["smooth", "piled", "clustered"])
def test_the_grid_is_within_1e_4_of_exact_everywhere(variant, kind):
    for seed in range(15):
        samples, points = several(kind, seed)
        grid = DensityRatio(**variant).fit(*samples).predict(*points)
        exact = DensityRatio(**variant, evaluation="exact").fit(*samples).predict(*points)
        np.testing.assert_allclose(grid, exact, atol=1e-4)


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_grid_is_within_1e_4_of_exact_for_thousands_of_samples(variant):
    samples, points = draw(4000), draw(1000, seed=1)[:2]
    grid = DensityRatio(**variant).fit(*samples)
    exact = DensityRatio(**variant, evaluation="exact").fit(*samples)
    assert grid.surface_ is not None
    np.testing.assert_allclose(grid.predict(*points), exact.predict(*points), atol=1e-4)


def test_a_bandwidth_too_small_for_a_grid_is_evaluated_exactly():
    confidence, proximity, correct = draw(2000)
    proximity = np.where(np.arange(2000) < 3, 0.9, 1e-6 * proximity)
    grid = DensityRatio(coordinates="paper").fit(confidence, proximity, correct)
    exact = DensityRatio(coordinates="paper", evaluation="exact").fit(confidence, proximity, correct)
    grid.bandwidths_[:, 1] = exact.bandwidths_[:, 1] = 1e-7
    grid._tabulate()
    assert grid.surface_ is None
    np.testing.assert_array_equal(grid.predict(confidence, proximity), exact.predict(confidence, proximity))


def test_exact_evaluation_holds_no_kernel_matrix():
    samples, points = draw(3000), draw(3000, seed=1)[:2]
    fitted = DensityRatio(evaluation="exact").fit(*samples)
    tracemalloc.start()
    fitted.predict(*points)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3000 * 3000 * 8 / 20


def log_loss(predicted, correct):
    return -np.mean(np.where(correct, np.log(predicted), np.log1p(-predicted)))


def test_it_lowers_the_log_loss_of_a_confidence_blind_to_proximity():
    rng = np.random.default_rng(0)
    odds, proximity = rng.normal(1.5, 1, (2, 10_000))
    correct = rng.random(10_000) < expit(odds + proximity - 1.5)
    confidence = expit(odds)
    fit, test = slice(5000), slice(5000, None)
    fitted = DensityRatio().fit(confidence[fit], proximity[fit], correct[fit])
    predicted = fitted.predict(confidence[test], proximity[test])
    assert log_loss(predicted, correct[test]) < log_loss(confidence[test], correct[test]) - 0.05


def test_starting_from_the_confidence_does_a_calibrated_one_a_fraction_of_the_share_priors_harm():
    rng = np.random.default_rng(0)
    harm = {"confidence": 0.0, "share": 0.0}
    for _ in range(20):
        confidence, proximity = rng.beta(5, 2, 500), rng.random(500)
        correct = rng.random(500) < confidence
        for prior in harm:
            predicted = DensityRatio(prior=prior).fit(confidence, proximity, correct).predict(confidence, proximity)
            harm[prior] += np.mean((predicted - confidence) ** 2)
    assert harm["confidence"] < harm["share"] / 5


@pytest.mark.parametrize("variant", ALL)
@pytest.mark.parametrize("far", [-1e300, -1e3, 1e3, 1e300])
def test_far_from_all_samples_the_result_is_still_a_probability(variant, far):
    fitted = DensityRatio(**variant).fit(*draw(300))
    predicted = fitted.predict(np.array([0.0, 0.5, 1.0]), np.full(3, far))
    assert np.all((predicted >= 0) & (predicted <= 1))


def test_far_from_all_samples_the_confidence_prior_stays():
    fitted = DensityRatio(coordinates="paper", prior="confidence").fit(*draw(300))
    intercept, slope = fitted.prior_line_
    predicted = fitted.predict(np.array([0.3, 0.9]), np.full(2, 100.0))
    np.testing.assert_allclose(predicted, expit(intercept + slope * logit([0.3, 0.9])))


@pytest.mark.parametrize("variant", ALL)
@pytest.mark.parametrize("n_wrong", [0, 1, 19, 20])
def test_fewer_than_two_samples_of_a_side_leave_the_confidence_unchanged_and_say_so(variant, n_wrong):
    confidence, proximity, _ = draw(20)
    with pytest.warns(ProxcalWarning, match="unchanged"):
        fitted = DensityRatio(**variant).fit(confidence, proximity, np.arange(20) >= n_wrong)
    np.testing.assert_array_equal(fitted.predict(confidence, proximity), confidence)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_one_two_or_three_samples_are_too_few(n):
    confidence, proximity, _ = draw(n)
    with pytest.warns(ProxcalWarning):
        fitted = DensityRatio().fit(confidence, proximity, np.arange(n) % 2 == 0)
    np.testing.assert_array_equal(fitted.predict(confidence, proximity), confidence)


DEGENERATE = {
    "constant confidence": (np.full(40, 0.8), np.linspace(0.1, 0.9, 40)),
    "constant proximity": (np.linspace(0.1, 0.9, 40), np.full(40, 0.3)),
    "both constant": (np.full(40, 0.8), np.full(40, 0.3)),
    "two samples, repeated": (np.tile([0.3, 0.9], 20), np.tile([0.2, 0.6], 20)),
    "confidences of 0 and 1": (np.tile([0.0, 1.0], 20), np.linspace(0.1, 0.9, 40)),
    "equal but for rounding": (np.linspace(0.1, 0.9, 40), 0.3 + 1e-17 * np.arange(40)),
    "proximities that underflow": (np.linspace(0.1, 0.9, 40), np.full(40, 5e-324) * np.arange(40)),
}


@pytest.mark.parametrize("variant", ALL)
@pytest.mark.parametrize("case", DEGENERATE)
@pytest.mark.parametrize("correct", [np.arange(40) % 3 > 0, np.arange(40) >= 2, np.arange(40) < 2])
def test_degenerate_samples_give_probabilities(variant, case, correct):
    confidence, proximity = DEGENERATE[case]
    fitted = DensityRatio(**variant).fit(confidence, proximity, correct)
    predicted = fitted.predict(np.append(confidence, [0, 0.5, 1]), np.append(proximity, [0, 0.5, 1]))
    assert np.all((predicted >= 0) & (predicted <= 1))


@pytest.mark.parametrize("variant", ALL)
def test_with_nothing_to_go_by_everyone_gets_the_share_of_the_correct(variant):
    correct = np.arange(1000) < 700
    fitted = DensityRatio(**variant).fit(np.full(1000, 0.5), np.full(1000, 0.3), correct)
    np.testing.assert_allclose(fitted.predict([0.5], [0.3]), 0.7, atol=0.01)


def test_a_side_without_spread_gets_a_hundredth_of_the_common_bandwidth():
    confidence, proximity, _ = draw(400)
    correct = np.arange(400) >= 40
    confidence[~correct] = 0.6
    fitted = DensityRatio(coordinates="paper").fit(confidence, proximity, correct)
    common = reference_bandwidth(np.column_stack([confidence, proximity]))
    assert fitted.bandwidths_[1, 0] == pytest.approx(common[0] / 100)


@pytest.mark.parametrize("prior", ["confidence", "share"])
def test_normal_coordinates_do_not_know_the_scale_of_proximity(prior):
    confidence, proximity, correct = draw(500)
    plain = DensityRatio(prior=prior).fit(confidence, proximity, correct).predict(confidence, proximity)
    logs = DensityRatio(prior=prior).fit(confidence, np.log(proximity), correct).predict(confidence, np.log(proximity))
    np.testing.assert_array_equal(plain, logs)


def test_each_coordinates_default_prior():
    samples, points = draw(300), draw(50, seed=1)[:2]
    for coordinates, prior in (("normal", "confidence"), ("paper", "share")):
        default = DensityRatio(coordinates=coordinates).fit(*samples).predict(*points)
        named = DensityRatio(coordinates=coordinates, prior=prior).fit(*samples).predict(*points)
        np.testing.assert_array_equal(default, named)


@pytest.mark.parametrize(("coordinates", "scale"), [("normal", "log"), ("paper", "plain")])
def test_only_paper_coordinates_want_proximity_as_it_is(coordinates, scale):
    assert DensityRatio(coordinates=coordinates).proximity_scale == scale


@pytest.mark.parametrize("variant", ALL)
def test_it_survives_its_state_bit_for_bit(variant):
    fitted = DensityRatio(**variant).fit(*draw(400))
    again = DensityRatio.from_state(fitted.get_params(deep=False), fitted.state_arrays())
    points = draw(100, seed=1)[:2]
    np.testing.assert_array_equal(again.predict(*points), fitted.predict(*points))


@pytest.mark.parametrize("argument", ["coordinates", "evaluation", "prior"])
def test_an_unknown_choice_is_refused_by_name(argument):
    with pytest.raises(ValueError, match=f"{argument} must be one of"):
        DensityRatio(**{argument: "other"}).fit(*draw(20))


def test_predict_before_fit_is_refused():
    with pytest.raises(NotFittedError):
        DensityRatio().predict([0.5], [0.5])


def in_batches(calibrator, samples, *ends):
    for batch in zip(*(np.split(part, ends) for part in samples), strict=True):
        assert calibrator.partial_fit(*batch) is calibrator
    return calibrator


def test_batches_give_the_exact_sums_over_all_samples_on_the_axes_of_the_first():
    confidence, proximity, correct = draw(1500)
    samples = confidence, proximity, correct
    exact = DensityRatio(evaluation="exact").fit(*(part[:500] for part in samples))
    exact.points_, exact.correct_ = exact._points(confidence, proximity), correct
    exact.foretold_ = expit(exact._prior_odds(confidence))
    streamed = in_batches(DensityRatio(), samples, 500, 501, 900)
    new = draw(300, seed=1)[:2]
    np.testing.assert_allclose(streamed.predict(*new), exact.predict(*new), atol=1e-5)


def test_how_samples_are_cut_into_later_batches_is_of_no_account():
    samples = draw(1500)
    one, many = in_batches(DensityRatio(), samples, 500), in_batches(DensityRatio(), samples, 500, 700, 701, 1200)
    np.testing.assert_allclose(one.predict(*draw(300, 1)[:2]), many.predict(*draw(300, 1)[:2]), rtol=1e-9)


def test_batches_can_be_added_to_what_fit_has_learned():
    samples = draw(900)
    fitted = DensityRatio().fit(*(part[:500] for part in samples))
    added = fitted.partial_fit(*(part[500:] for part in samples))
    np.testing.assert_array_equal(
        added.predict(*samples[:2]), in_batches(DensityRatio(), samples, 500).predict(*samples[:2])
    )


def test_no_sample_is_kept_of_batches():
    streamed = in_batches(DensityRatio(), draw(3000), 500, 1000)
    assert max(np.size(getattr(streamed, name)) for name in ("points_", "correct_", "foretold_")) == 0


def test_fit_forgets_the_batches():
    samples = draw(900)
    streamed = in_batches(DensityRatio(), samples, 500).fit(*samples)
    np.testing.assert_array_equal(streamed.predict(*samples[:2]), DensityRatio().fit(*samples).predict(*samples[:2]))
    assert not hasattr(streamed, "spread_")


def test_a_first_batch_without_errors_is_forgotten():
    confidence, proximity, correct = draw(900)
    with pytest.warns(ProxcalWarning, match="a density ratio needs 2 of each"):
        begun = DensityRatio().partial_fit(confidence[:3], proximity[:3], [True, True, False])
    later = confidence[3:], proximity[3:], correct[3:]
    np.testing.assert_array_equal(begun.partial_fit(*later).surface_, DensityRatio().fit(*later).surface_)


@pytest.mark.parametrize("settings", [{"evaluation": "exact"}, {"coordinates": "paper"}, {"prior": "share"}])
def test_batches_need_the_grid_and_the_confidence_as_prior(settings):
    with pytest.raises(ValueError, match='partial_fit needs coordinates="normal"'):
        DensityRatio(**settings).partial_fit(*draw(900))


def test_a_first_batch_too_close_together_for_a_grid_is_refused(monkeypatch):
    monkeypatch.setattr(_kde, "MAX_NODES", 10)
    begun = DensityRatio().partial_fit(*draw(900))
    with pytest.raises(ValueError, match="too close together for a grid"):
        begun.partial_fit(*draw(900))


def test_what_batches_taught_is_saved_and_goes_on(tmp_path):
    samples = draw(1200)
    streamed = in_batches(DensityRatio(), tuple(part[:900] for part in samples), 500)
    _store.write(tmp_path / "d.proxcal", streamed)
    loaded = _store.read(tmp_path / "d.proxcal", {c.__name__: c for c in (DensityRatio, NormalScores)})
    for one in (streamed, loaded):
        one.partial_fit(*(part[900:] for part in samples))
    np.testing.assert_array_equal(loaded.surface_, streamed.surface_)
