import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import expit, rel_entr
from sklearn.exceptions import NotFittedError

from proxcal.informed import BinMeanShift
from proxcal.informed.bin_mean_shift import _shrinkage, equal_count_edges


@st.composite
def samples(draw):
    n = draw(st.integers(1, 60))
    confidence = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.25, 0.9, 1.0]))
    proximity = st.one_of(st.floats(-50, 0), st.sampled_from([-1.0, -2.0]))
    return (
        draw(arrays(np.float64, n, elements=confidence)),
        draw(arrays(np.float64, n, elements=proximity)),
        draw(arrays(np.bool_, n)),
    )


def brier(predicted, correct):
    return np.mean((predicted - correct) ** 2)


def by_rank(values, n_bins):
    return np.argsort(np.argsort(values)) * n_bins // len(values)


@pytest.mark.parametrize("shrinkage", [0.5, 1.0])
def test_distinct_samples_are_shifted_by_the_formula_on_bins_by_rank(shrinkage):
    rng = np.random.default_rng(0)
    confidence, proximity, correct = rng.random(1003), rng.random(1003), rng.random(1003) < 0.5
    expected = np.empty(1003)
    outer = by_rank(confidence, 15)
    for i in range(15):
        row = np.flatnonzero(outer == i)
        inner = by_rank(proximity[row], 10)
        for j in range(10):
            cell = row[inner == j]
            gap = correct[cell].mean() - confidence[cell].mean()
            expected[cell] = np.clip(confidence[cell] + shrinkage * gap, 0, 1)
    fitted = BinMeanShift(shrinkage=shrinkage).fit(confidence, proximity, correct)
    np.testing.assert_allclose(fitted.predict(confidence, proximity), expected, atol=1e-12)


@pytest.mark.parametrize("shrinkage", [0.5, 1.0])
@given(sample=samples())
@settings(max_examples=60)
def test_brier_does_not_rise_on_its_own_samples(shrinkage, sample):
    confidence, proximity, correct = sample
    fitted = BinMeanShift(n_bins=4, n_proximity_bins=3, shrinkage=shrinkage).fit(*sample)
    assert brier(fitted.predict(confidence, proximity), correct) <= brier(confidence, correct) + 1e-12


@given(samples(), st.sampled_from(["auto", 0.5, 1.0]))
@settings(max_examples=60)
def test_predictions_are_probabilities(sample, shrinkage):
    fitted = BinMeanShift(shrinkage=shrinkage).fit(*sample)
    predicted = fitted.predict(np.append(sample[0], [0, 1]), np.append(sample[1], [-1e300, 1e300]))
    assert np.all((predicted >= 0) & (predicted <= 1))


@given(samples())
@settings(max_examples=60)
def test_auto_makes_no_certainty_of_a_confidence_that_was_none(sample):
    confidence = np.clip(sample[0], 0.01, 0.99)
    predicted = BinMeanShift().fit(confidence, *sample[1:]).predict(confidence, sample[1])
    assert np.all((predicted > 0) & (predicted < 1))


@given(arrays(np.float64, st.integers(1, 80), elements=st.sampled_from(np.linspace(0, 1, 7))), st.integers(1, 20))
@settings(max_examples=60)
def test_no_bin_is_empty_whatever_the_ties(values, n_bins):
    bins = np.searchsorted(equal_count_edges(values, n_bins), values, side="right")
    assert np.bincount(bins).min() > 0


@pytest.mark.parametrize("n", [1, 14, 15, 16, 1000])
def test_bins_of_distinct_values_differ_in_size_by_at_most_one(n):
    values = np.random.default_rng(0).permutation(n).astype(float)
    bins = np.searchsorted(equal_count_edges(values, 15), values, side="right")
    assert np.ptp(np.bincount(bins)) <= 1


def test_an_edge_within_equal_values_moves_to_their_nearer_end():
    values = np.array([0.0] * 6 + [1.0] * 5 + [2.0] * 9)
    np.testing.assert_array_equal(equal_count_edges(values, 2), [2.0])


def test_a_confidence_that_fills_several_bins_is_one_bin():
    rng = np.random.default_rng(0)
    confidence = np.where(rng.random(1000) < 0.7, 0.9, rng.random(1000))
    fitted = BinMeanShift().fit(confidence, rng.random(1000), rng.random(1000) < 0.5)
    row, _ = fitted._bins(np.full(3, 0.9), np.array([0.0, 0.5, 1.0]))
    assert len(np.unique(row)) == 1
    assert fitted.count_[row[0]].sum() >= np.sum(confidence == 0.9)


def test_at_full_shift_each_value_of_a_discrete_confidence_meets_its_accuracy():
    rng = np.random.default_rng(0)
    confidence, proximity = rng.choice([0.3, 0.6, 0.9], 3000), rng.random(3000)
    correct = rng.random(3000) < confidence - 0.2
    fitted = BinMeanShift(n_proximity_bins=1, shrinkage=1.0).fit(confidence, proximity, correct)
    for value in (0.3, 0.6, 0.9):
        here = confidence == value
        assert fitted.predict([value], [0.5])[0] == pytest.approx(correct[here].mean())


def test_auto_leaves_a_calibrated_confidence_nearly_alone_with_300_samples():
    rng = np.random.default_rng(0)
    rise_of_brier, rise_of_log_loss = [], []
    for _ in range(100):
        confidence, proximity = rng.beta(5, 2, 300), rng.random(300)
        predicted = (
            BinMeanShift().fit(confidence, proximity, rng.random(300) < confidence).predict(confidence, proximity)
        )
        rise_of_brier.append(np.mean((predicted - confidence) ** 2))
        rise_of_log_loss.append(np.mean(rel_entr(confidence, predicted) + rel_entr(1 - confidence, 1 - predicted)))
    assert np.mean(rise_of_brier) < 0.0004
    assert np.mean(rise_of_log_loss) < 0.001


def test_auto_lowers_brier_where_low_proximity_is_overconfident():
    rng = np.random.default_rng(0)
    odds, proximity = rng.normal(1.5, 1, 10_000), rng.random(10_000)
    confidence, truth = expit(odds), expit(odds + 2 * (proximity - 0.5))
    correct = rng.random(10_000) < truth
    fitted = BinMeanShift().fit(confidence[:5000], proximity[:5000], correct[:5000])
    predicted = fitted.predict(confidence[5000:], proximity[5000:])
    assert np.mean((predicted - truth[5000:]) ** 2) < np.mean((confidence[5000:] - truth[5000:]) ** 2) / 3


def test_auto_trusts_bins_with_more_samples_more():
    rng = np.random.default_rng(0)
    confidence = np.repeat([0.2, 0.4, 0.6, 0.8], [100, 300, 900, 2700])
    proximity = rng.random(4000)
    correct = rng.random(4000) < confidence + 0.15 * np.where(proximity < 0.5, -1, 1)
    fitted = BinMeanShift(n_bins=40).fit(confidence, proximity, correct)
    order = np.argsort(fitted.count_, axis=None)
    assert np.all(np.diff(fitted.lambda_.ravel()[order]) >= 0)
    assert fitted.lambda_.min() > 0
    assert fitted.lambda_.max() < 1


def test_the_spread_of_true_gaps_is_what_their_size_beyond_noise_calls_for():
    """Paule and Mandel's equation: squared gaps over their expected squares add up to their number, and a deviation."""
    count, gap = np.array([10, 40, 200, 0]), np.array([0.5, -0.2, 0.3, 0.0])
    variance = np.array([0.2, 0.1, 0.25, 0.25])
    shrinkage = _shrinkage(count, gap, variance)[:3]
    between = shrinkage / (count[:3] * (1 - shrinkage))
    expected_square = variance[:3] * (1 / count[:3] + between)
    assert np.ptp(between) == pytest.approx(0, abs=1e-9)
    assert np.sum(gap[:3] ** 2 / expected_square) == pytest.approx(3 + np.sqrt(2 * 3))


def test_gaps_within_their_noise_are_not_believed_at_all():
    assert not _shrinkage(np.array([10, 40]), np.array([0.1, -0.05]), np.array([0.2, 0.1])).any()


def test_as_few_bins_as_the_coarsest_are_fitted_once():
    rng = np.random.default_rng(0)
    confidence, proximity, correct = rng.random(50), rng.random(50), rng.random(50) < 0.1
    fitted = BinMeanShift(n_bins=1, n_proximity_bins=1).fit(confidence, proximity, correct)
    assert fitted.shift_[0, 0] == pytest.approx(fitted.lambda_[0, 0] * (correct.mean() - confidence.mean()))


def test_a_fixed_shrinkage_is_the_lambda_of_every_bin():
    rng = np.random.default_rng(0)
    fitted = BinMeanShift(shrinkage=0.5).fit(rng.random(500), rng.random(500), rng.random(500) < 0.5)
    assert np.all(fitted.lambda_ == 0.5)


@pytest.mark.parametrize("shrinkage", ["auto", 0.5])
@pytest.mark.parametrize("scale", [np.exp, np.cbrt])
def test_the_scale_of_proximity_is_of_no_account(shrinkage, scale):
    rng = np.random.default_rng(0)
    confidence, proximity, correct = rng.random(500), rng.normal(size=500), rng.random(500) < 0.5
    plain = BinMeanShift(shrinkage=shrinkage).fit(confidence, proximity, correct).predict(confidence, proximity)
    scaled = scale(proximity)
    other = BinMeanShift(shrinkage=shrinkage).fit(confidence, scaled, correct).predict(confidence, scaled)
    np.testing.assert_array_equal(plain, other)


@pytest.mark.parametrize("shrinkage", ["auto", 0.5, 1.0])
@pytest.mark.parametrize("correct", [np.ones(30, bool), np.zeros(30, bool), np.arange(30) > 0])
@pytest.mark.parametrize("confidence", [np.full(30, 0.8), np.zeros(30), np.ones(30), np.linspace(0, 1, 30)])
@pytest.mark.parametrize("proximity", [np.full(30, 0.5), np.linspace(0, 1, 30)])
def test_degenerate_samples_give_probabilities(shrinkage, correct, confidence, proximity):
    predicted = BinMeanShift(shrinkage=shrinkage).fit(confidence, proximity, correct).predict(confidence, proximity)
    assert np.all((predicted >= 0) & (predicted <= 1))


@pytest.mark.parametrize("n", [1, 2])
def test_one_or_two_samples_change_nothing_on_auto(n):
    confidence = np.array([0.4, 0.7])[:n]
    fitted = BinMeanShift().fit(confidence, np.arange(n), np.arange(n) > 0)
    np.testing.assert_array_equal(fitted.predict(confidence, np.arange(n)), confidence)


@pytest.mark.parametrize("shrinkage", ["auto", 0.5])
def test_it_survives_its_state_bit_for_bit(shrinkage):
    rng = np.random.default_rng(0)
    fitted = BinMeanShift(shrinkage=shrinkage).fit(rng.random(900), rng.random(900), rng.random(900) < 0.5)
    again = BinMeanShift.from_state(fitted.get_params(deep=False), fitted.state_arrays())
    points = rng.random((2, 100))
    np.testing.assert_array_equal(again.predict(*points), fitted.predict(*points))


@pytest.mark.parametrize("shrinkage", [0, 1.5, "half", None, True])
def test_a_shrinkage_that_is_none_is_refused(shrinkage):
    with pytest.raises(ValueError, match='shrinkage, if not "auto", must be a number in'):
        BinMeanShift(shrinkage=shrinkage).fit([0.5], [0.5], [True])


@pytest.mark.parametrize("argument", ["n_bins", "n_proximity_bins"])
def test_no_bins_are_refused(argument):
    with pytest.raises(ValueError, match=f"{argument} must be a whole number"):
        BinMeanShift(**{argument: 0}).fit([0.5], [0.5], [True])


def test_predict_before_fit_is_refused():
    with pytest.raises(NotFittedError):
        BinMeanShift().predict([0.5], [0.5])


def in_batches(calibrator, samples, *ends):
    for batch in zip(*(np.split(part, ends) for part in samples), strict=True):
        assert calibrator.partial_fit(*batch) is calibrator
    return calibrator


@pytest.mark.parametrize("shrinkage", ["auto", 0.5])
def test_the_first_batch_alone_is_fitted_as_by_fit(biased, shrinkage):
    made = biased(800)
    samples = made.confidence, made.proximity, made.correct
    begun, fitted = in_batches(BinMeanShift(shrinkage=shrinkage), samples), BinMeanShift(shrinkage=shrinkage)
    np.testing.assert_array_equal(begun.shift_, fitted.fit(*samples).shift_)


@pytest.mark.parametrize("shrinkage", ["auto", 0.5])
def test_batches_that_share_their_bins_give_what_all_samples_give(biased, shrinkage):
    """Twice the same confidences and proximities have the bins of once, whatever was right."""
    made = biased(750, strength=2)
    again = np.random.default_rng(1).random(750) < made.chance**2
    both = np.tile(made.confidence, 2), np.tile(made.proximity, 2), np.concatenate([made.correct, again])
    whole = BinMeanShift(shrinkage=shrinkage).fit(*both)
    streamed = in_batches(BinMeanShift(shrinkage=shrinkage), both, 750, 751, 1400)
    np.testing.assert_allclose(streamed.shift_, whole.shift_, rtol=1e-9, atol=1e-15)
    np.testing.assert_array_equal(streamed.count_, whole.count_)


def test_bins_stay_those_of_the_first_batch(biased):
    made = biased(1500)
    samples = made.confidence, made.proximity, made.correct
    first = BinMeanShift(shrinkage=1.0).fit(*(part[:500] for part in samples))
    row, column = first._bins(*samples[:2])
    streamed = in_batches(BinMeanShift(shrinkage=1.0), samples, 500, 900)
    for i, j in np.ndindex(streamed.shift_.shape):
        cell = (row == i) & (column == j)
        assert streamed.shift_[i, j] == pytest.approx(np.mean(made.correct[cell] - made.confidence[cell]), abs=1e-12)
