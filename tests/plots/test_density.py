import numpy as np
import pytest
from matplotlib.figure import Figure

from proxcal import DensityRatio, ProxcalWarning
from proxcal.informed._normal_scores import NormalScores
from proxcal.plots import DensityDisplay


@pytest.fixture
def few(samples):
    return [values[:300] for values in samples]


def middle(edges):
    return (edges[1:] + edges[:-1]) / 2


def test_panels_are_the_densities_and_what_the_ratio_predicts(few):
    confidence, correct, proximity = few
    ratio = DensityRatio().fit(confidence, proximity, correct)
    display = DensityDisplay.from_predictions(*few, density_ratio=ratio)
    right, wrong, probability = (ax.images[0].get_array().T for ax in display.axes_)
    np.testing.assert_array_equal(right, display.maps.right)
    np.testing.assert_array_equal(wrong, display.maps.wrong)
    scores = NormalScores().fit(confidence), NormalScores().fit(proximity)
    x, y = (np.interp(middle(edges), s.scores_, s.values_) for edges, s in zip(display.maps.edges, scores, strict=True))
    for i, j in [(40, 60), (60, 40), (70, 70)]:
        assert probability[i, j] == pytest.approx(ratio.predict(x[i : i + 1], y[j : j + 1])[0])


def test_a_density_is_the_mean_of_gaussian_kernels_on_normal_scores(few):
    confidence, correct, proximity = few
    maps = DensityDisplay.from_predictions(*few).maps
    points = np.array([NormalScores().fit_transform(values) for values in (confidence, proximity)])[:, ~correct]
    bandwidth = 1.06 * points.shape[1] ** (-1 / 6)
    for i, j in [(30, 30), (50, 60), (80, 40)]:
        at = np.array([[middle(maps.edges[0])[i]], [middle(maps.edges[1])[j]]])
        kernels = np.exp(-np.sum((points - at) ** 2, axis=0) / (2 * bandwidth**2)) / (2 * np.pi * bandwidth**2)
        assert maps.wrong[i, j] == pytest.approx(kernels.mean(), rel=0.03)


def test_probability_is_left_white_where_there_are_no_samples(samples):
    rng = np.random.default_rng(0)
    proximity = samples[0] + 0.02 * rng.random(2000)  # all on the diagonal
    probability = DensityDisplay.from_predictions(samples[0], samples[1], proximity).maps.probability
    assert np.isnan(probability[0, -1])
    assert np.isnan(probability[-1, 0])
    assert np.isfinite(np.diag(probability)[5:-5]).all()


def test_both_densities_have_one_colour_scale_and_probability_has_zero_to_one(few):
    right, wrong, probability = (ax.images[0].get_clim() for ax in DensityDisplay.from_predictions(*few).axes_)
    assert right == wrong
    assert right[0] == 0 < right[1]
    assert probability == (0, 1)


def test_ticks_are_the_confidences_at_their_place(few):
    display = DensityDisplay.from_predictions(*few)
    values = [float(label.get_text()) for label in display.ax_.get_xticklabels()]
    np.testing.assert_allclose(display.ax_.get_xticks(), NormalScores().fit(few[0]).transform(np.array(values)))
    assert len(values) >= 3


def test_titles_count_the_samples(few):
    display = DensityDisplay.from_predictions(*few, name="ResNet")
    assert display.axes_[0].get_title() == f"ResNet\n{few[1].sum()} right predictions"
    assert display.axes_[1].get_title() == f"ResNet\n{(~few[1]).sum()} wrong predictions"


@pytest.mark.parametrize("grid", [None, (1, 3), (3, 1)])
@pytest.mark.parametrize("n", [30, 2000])
def test_nothing_overlaps_and_nothing_is_cut_off(samples, grid, n, assert_readable):
    size = (4, 11) if grid == (3, 1) else (9, 4)
    axes = grid and Figure(figsize=size, layout="constrained").subplots(*grid)
    display = DensityDisplay.from_predictions(*(values[:n] for values in samples), ax=axes)
    assert axes is None or display.axes_ == list(axes)
    assert display.plot(axes) is display
    assert_readable(DensityDisplay.from_predictions(*(values[:n] for values in samples), name="A network").figure_)


@pytest.mark.parametrize("right", [0, 1])
def test_without_both_kinds_it_warns_and_shows_the_confidence(samples, right):
    confidence, _, proximity = samples
    with pytest.warns(ProxcalWarning, match="a density ratio needs 2 of each"):
        display = DensityDisplay.from_predictions(confidence, np.full(2000, right), proximity)
    assert display.ax_.get_title() == "Confidence (too few for a ratio)"


@pytest.mark.parametrize("constant", ["confidence", "proximity", "both"])
def test_constant_axes_are_drawn(samples, constant):
    confidence = np.full(2000, 0.75) if constant != "proximity" else samples[0]
    proximity = np.full(2000, 0.5) if constant != "confidence" else samples[2]
    display = DensityDisplay.from_predictions(confidence, samples[1], proximity)
    display.figure_.draw_without_rendering()
    assert np.isfinite(display.maps.probability).any()


def test_two_axes_are_refused(few):
    with pytest.raises(ValueError, match="ax has 2 axes; it needs three"):
        DensityDisplay.from_predictions(*few, ax=Figure().subplots(1, 2))
