import numpy as np
import pytest
from matplotlib.figure import Figure

from proxcal.metrics import ece
from proxcal.plots import ReliabilityDisplay, before_after


def test_curve_is_accuracy_against_mean_confidence_of_each_bin(samples, errorbars):
    display = ReliabilityDisplay.from_predictions(*samples[:2], n_bins=8)
    table = ece(*samples[:2], n_bins=8, return_result=True)
    x, y, _ = errorbars(display.ax_)[0]
    many = table.count >= 10
    np.testing.assert_allclose(x, table.confidence[many])
    np.testing.assert_allclose(y, table.accuracy[many])


def test_with_proximity_the_curves_are_the_lowest_and_the_highest_group(samples, errorbars):
    confidence, correct, proximity = samples
    display = ReliabilityDisplay.from_predictions(*samples)
    by_proximity = np.argsort(proximity)
    for (x, y, _), members in zip(errorbars(display.ax_)[:2], (by_proximity[:400], by_proximity[-400:]), strict=True):
        table = ece(confidence[members], correct[members], n_bins=10, return_result=True)
        np.testing.assert_allclose(x, table.confidence[table.count >= 10])
        np.testing.assert_allclose(y, table.accuracy[table.count >= 10])


@pytest.mark.parametrize(("n_groups", "part"), [(2, "half"), (5, "fifth"), (7, "1/7")])
def test_legend_names_the_groups(samples, n_groups, part, legend_texts):
    display = ReliabilityDisplay.from_predictions(*samples, n_groups=n_groups)
    texts = legend_texts(display.counts_ax_)
    assert any(text.startswith(f"Lowest proximity {part}: accuracy ") for text in texts)
    assert any(text.startswith(f"Highest proximity {part}: accuracy ") for text in texts)


def test_bars_are_the_counts(samples):
    display = ReliabilityDisplay.from_predictions(*samples[:2])
    heights = [bar.get_height() for bar in display.counts_ax_.patches]
    assert heights == ece(*samples[:2], n_bins=10, return_result=True).count.tolist()


def test_points_of_few_samples_are_faint_and_off_the_line(errorbars):
    confidence = np.append(np.full(50, 0.9), 0.2)
    display = ReliabilityDisplay.from_predictions(confidence, np.ones(51))
    (_, _, strong), (x, _, faint) = errorbars(display.ax_)
    assert strong.startswith("All samples")
    assert faint == "Faint: fewer than 10 samples"
    assert x.tolist() == [0.2]


def test_display_returns_itself_with_its_axes_and_figure(samples):
    display = ReliabilityDisplay.from_predictions(*samples, name="ResNet")
    assert isinstance(display, ReliabilityDisplay)
    assert display.ax_.get_title() == "ResNet"
    assert display.figure_.axes == [display.ax_, display.counts_ax_]
    assert display.plot() is display


def test_given_axes_are_drawn_into(samples):
    ax = Figure().subplots(2, 2)[0, 1]
    display = ReliabilityDisplay.from_predictions(*samples, ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure


def test_axes_placed_by_hand_keep_their_place(samples):
    figure = Figure()
    ax = figure.add_axes((0.1, 0.3, 0.6, 0.5))
    display = ReliabilityDisplay.from_predictions(*samples, ax=ax)
    union = np.array([display.counts_ax_.get_position().p0, display.ax_.get_position().p1])
    np.testing.assert_allclose(union, [[0.1, 0.3], [0.7, 0.8]])


@pytest.mark.parametrize("draw", [before_after, ReliabilityDisplay.from_predictions])
def test_nothing_overlaps_and_nothing_is_cut_off(samples, draw, assert_readable):
    confidence, correct, proximity = samples
    drawn = draw(confidence, confidence**2, correct, proximity) if draw is before_after else draw(*samples).figure_
    assert_readable(drawn)


def test_before_after_shows_both_confidences_on_the_same_scale(samples, errorbars):
    confidence, correct, proximity = samples
    figure = before_after(confidence, confidence**2, correct, proximity)
    before, _, after, _ = sorted(figure.axes, key=lambda ax: ax.get_subplotspec().get_topmost_subplotspec().num1)
    assert (before.get_title(), after.get_title()) == ("Before", "After")
    assert before.get_ylim() == after.get_ylim()
    assert errorbars(before)[0][2] != errorbars(after)[0][2]


def test_a_figure_saves_as_png_without_a_window_system(samples, tmp_path):
    file = tmp_path / "reliability.png"
    before_after(samples[0], samples[0], *samples[1:]).savefig(file)
    assert file.read_bytes()[1:4] == b"PNG"


def test_one_sample_is_drawn(errorbars):
    assert errorbars(ReliabilityDisplay.from_predictions([0.7], [1]).ax_)[-1][0].tolist() == [0.7]


def test_one_proximity_is_refused():
    with pytest.raises(ValueError, match=r"proximity is 0\.5 for"):
        ReliabilityDisplay.from_predictions(np.full(20, 0.8), np.ones(20), np.full(20, 0.5))


@pytest.mark.parametrize("n", [1, 5, 30])
def test_few_samples_are_drawn_faint(n, errorbars):
    display = ReliabilityDisplay.from_predictions(np.linspace(0, 1, n), np.arange(n) % 2)
    strong, faint = errorbars(display.ax_)
    assert (len(strong[0]), len(faint[0])) == (0, min(n, 10))


@pytest.mark.parametrize("right", [0, 1])
@pytest.mark.parametrize("confidence", [0, 0.5, 1])
def test_the_same_confidence_all_right_or_all_wrong_is_one_point(confidence, right, errorbars):
    display = ReliabilityDisplay.from_predictions(np.full(50, confidence), np.full(50, right))
    ((x, y, _),) = errorbars(display.ax_)
    assert (x.tolist(), y.tolist()) == ([confidence], [right])


def test_points_in_the_corners_are_not_cut_off():
    ax = ReliabilityDisplay.from_predictions([0] * 20 + [1] * 20, [0] * 20 + [1] * 20).ax_
    assert ax.get_xlim()[0] < 0 < 1 < ax.get_xlim()[1]
    assert ax.get_ylim()[0] < 0 < 1 < ax.get_ylim()[1]
