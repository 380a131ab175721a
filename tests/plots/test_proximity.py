import numpy as np
import pytest
from matplotlib.figure import Figure

from proxcal.bias import proximity_groups
from proxcal.metrics.intervals import wilson_interval
from proxcal.plots import ProximityDisplay


def lines(ax):
    return {line.get_label(): line for line in ax.lines if not line.get_label().startswith("_")}


def test_points_and_line_are_accuracy_and_confidence_of_each_group(samples, errorbars):
    display = ProximityDisplay.from_predictions(*samples, n_bins=7)
    groups = proximity_groups(*samples, n_groups=7)
    ((x, accuracy, label),) = errorbars(display.ax_)
    assert label == "Accuracy"
    assert x.tolist() == [1, 2, 3, 4, 5, 6, 7]
    np.testing.assert_array_equal(accuracy, groups.accuracy)
    np.testing.assert_array_equal(lines(display.ax_)["Mean confidence"].get_ydata(), groups.confidence)


def test_bars_are_wilson_intervals(samples):
    display = ProximityDisplay.from_predictions(*samples)
    groups = proximity_groups(*samples, n_groups=10)
    segments = np.array(display.ax_.containers[0].lines[2][0].get_segments())[:, :, 1]
    np.testing.assert_allclose(segments.T, wilson_interval(groups.accuracy, groups.count))


def test_calibrators_that_keep_predictions_share_one_accuracy(samples, errorbars):
    confidence, correct, proximity = samples
    display = ProximityDisplay.from_predictions({"raw": confidence, "ours": confidence**2}, correct, proximity)
    assert [label for *_, label in errorbars(display.ax_)] == ["Accuracy"]
    assert list(lines(display.ax_)) == ["Mean confidence: raw", "Mean confidence: ours"]


def test_a_calibrator_that_changes_predictions_has_its_own_accuracy(samples, errorbars):
    confidence, correct, proximity = samples
    corrects = {"raw": correct, "scaled": correct, "votes": ~correct}
    ax = ProximityDisplay.from_predictions(dict.fromkeys(corrects, confidence), corrects, proximity).ax_
    (x, _, shared), (x_votes, of_votes, own) = errorbars(ax)
    assert (shared, own) == ("Accuracy: raw, scaled", "Accuracy: votes")
    np.testing.assert_array_equal(of_votes, proximity_groups(confidence, ~correct, proximity, 10).accuracy)
    assert np.all(x < x_votes)


def test_the_axis_says_which_group_is_which_and_how_large(samples):
    ax = ProximityDisplay.from_predictions(*samples, n_bins=4).ax_
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1\nlowest", "2", "3", "4\nhighest"]
    assert ax.get_xlabel() == "Proximity, in groups of 25 % of samples"


@pytest.mark.parametrize("n_bins", [2, 3, 10, 25, 100])
@pytest.mark.parametrize("width", [4, 8])
def test_labels_do_not_collide_however_many_groups(samples, n_bins, width, assert_readable):
    ax = Figure(figsize=(width, 4), layout="constrained").add_subplot()
    assert_readable(ProximityDisplay.from_predictions(*samples, n_bins=n_bins, ax=ax, name="A network").figure_)


def test_given_axes_are_drawn_into(samples):
    ax = Figure().subplots(1, 2)[0]
    display = ProximityDisplay.from_predictions(*samples, ax=ax, name="ResNet")
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert ax.get_title() == "ResNet"
    assert display.plot() is display
    assert display.ax_ is not ax


def test_thirty_samples_are_drawn_faint(samples, errorbars):
    ax = ProximityDisplay.from_predictions(*(values[:30] for values in samples)).ax_
    strong, faint = errorbars(ax)
    assert (len(strong[0]), len(faint[0])) == (0, 10)
    assert faint[2] == "Faint: fewer than 10 samples"


def test_all_correct_is_drawn_up_to_one(samples):
    ax = ProximityDisplay.from_predictions(samples[0], np.ones(2000), samples[2]).ax_
    assert 1 < ax.get_ylim()[1] <= 1.02


@pytest.mark.parametrize(
    ("confidence", "correct", "message"),
    [
        ({}, [1] * 20, "confidence is an empty mapping"),
        ({"raw": [0.5] * 20}, {"ours": [1] * 20}, "correct has no entry 'raw'"),
        ({"raw": [1.5] * 20}, [1] * 20, r"confidence lies in .* \(calibrator 'raw'\)"),
        ([0.5] * 19, [1] * 20, r"correct has 20 samples; confidence has 19$"),
    ],
)
def test_what_does_not_fit_is_refused(confidence, correct, message):
    with pytest.raises(ValueError, match=message):
        ProximityDisplay.from_predictions(confidence, correct, np.arange(20))
