import numpy as np
import pytest
from matplotlib.figure import Figure

from proxcal.metrics.cumulative import cumulative_difference, maximum_exceeds
from proxcal.plots import CumulativeDisplay
from proxcal.plots.cumulative import BAND, MAX_POINTS


def test_line_is_the_cumulative_difference(samples):
    sample = [values[:200] for values in samples]
    curve = cumulative_difference(*sample)
    x, y = CumulativeDisplay.from_predictions(*sample).ax_.lines[0].get_data()
    np.testing.assert_array_equal(x, curve.share)
    np.testing.assert_array_equal(y, curve.difference)


def test_a_long_line_is_thinned_to_points_that_lie_on_it_and_keeps_its_extremes(samples):
    curve = cumulative_difference(*samples)
    x, y = CumulativeDisplay.from_predictions(*samples).ax_.lines[0].get_data()
    assert len(x) <= MAX_POINTS + 2
    np.testing.assert_array_equal(y, curve.difference[np.searchsorted(curve.share, x)])
    assert (y.min(), y.max()) == (curve.difference.min(), curve.difference.max())


def test_band_holds_a_calibrated_model_in_19_of_20_cases():
    assert maximum_exceeds(BAND) == pytest.approx(0.05)
    rng = np.random.default_rng(0)
    confidence, proximity = rng.random(1000), np.arange(1000.0)
    draws = (cumulative_difference(confidence, rng.random(1000) < confidence, proximity) for _ in range(400))
    inside = np.mean([np.abs(curve.difference).max() <= BAND * curve.scale for curve in draws])
    assert inside == pytest.approx(0.95, abs=0.035)


def test_each_line_has_its_own_band(samples):
    confidence, correct, proximity = samples
    by_name = {"raw": confidence, "ours": confidence**2}
    ax = CumulativeDisplay.from_predictions(by_name, correct, proximity).ax_
    drawn = [band.get_datalim(ax.transData).y1 for band in ax.collections[::2]]
    scales = [cumulative_difference(values, correct, proximity).scale for values in by_name.values()]
    np.testing.assert_allclose(drawn, BAND * np.array(scales))


def test_legend_says_in_words_what_was_found(samples, legend_texts):
    confidence, _, proximity = samples
    calibrated = np.random.default_rng(1).random(2000) < confidence
    by_name = {"raw": np.sqrt(confidence), "ours": confidence}
    raw, ours, band = legend_texts(CumulativeDisplay.from_predictions(by_name, calibrated, proximity).ax_)
    assert raw == "raw: miscalibrated (Kuiper p < 0.001)"
    p = cumulative_difference(confidence, calibrated, proximity).kuiper_p_value
    assert ours == f"ours: no sign of error (Kuiper p = {p:.2f})"
    assert band == "Shaded: 95 % of calibrated models stay inside"


def test_the_figure_grows_with_the_legend(samples, assert_readable):
    heights = []
    for n in (1, 12):
        display = CumulativeDisplay.from_predictions({f"calibrator {i}": samples[0] for i in range(n)}, *samples[1:])
        assert_readable(display.figure_)
        heights.append(display.ax_.get_window_extent().height)
    assert heights[1] == pytest.approx(heights[0], rel=0.1)


@pytest.mark.parametrize("width", [4, 8])
def test_nothing_overlaps_and_nothing_is_cut_off(samples, width, assert_readable):
    ax = Figure(figsize=(width, 4), layout="constrained").add_subplot()
    by_name = {"Raw": samples[0], "Temperature + ours": samples[0] ** 2}
    assert_readable(CumulativeDisplay.from_predictions(by_name, *samples[1:], ax=ax, name="A network").figure_)


def test_given_axes_are_drawn_into(samples):
    ax = Figure().subplots(1, 2)[0]
    display = CumulativeDisplay.from_predictions(*samples, ax=ax, name="ResNet")
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert ax.get_title() == "ResNet"
    assert display.plot() is display


@pytest.mark.filterwarnings("ignore:proximity is 0 for all samples:proxcal.ProxcalWarning")
@pytest.mark.parametrize("n", [1, 30])
@pytest.mark.parametrize("confidence", [0.5, 1])
@pytest.mark.parametrize("proximity", ["one", "many"])
def test_degenerate_samples_are_drawn(n, confidence, proximity):
    order = np.zeros(n) if proximity == "one" else np.arange(n)
    ax = CumulativeDisplay.from_predictions(np.full(n, confidence), np.ones(n), order).ax_
    assert ax.lines[0].get_ydata()[-1] == pytest.approx(1 - confidence)
