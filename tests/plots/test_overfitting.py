import numpy as np
import pytest
from matplotlib.figure import Figure

from proxcal.bias import overfitting_by_proximity
from proxcal.plots import OverfittingDisplay


@pytest.fixture
def found():
    rng = np.random.default_rng(0)
    train, held_out = rng.random(900), rng.random(600)
    return overfitting_by_proximity(rng.random(900) < 0.98, train, rng.random(600) < 0.6 + 0.3 * held_out, held_out)


def test_points_are_the_accuracies_side_by_side(found, errorbars):
    (x, train, _), (x_held_out, held_out, _) = errorbars(OverfittingDisplay.from_result(found).ax_)
    np.testing.assert_array_equal(train, found.train_accuracy)
    np.testing.assert_array_equal(held_out, found.accuracy)
    assert np.all(x < x_held_out)


def test_legend_gives_the_gap_at_both_ends(found, legend_texts):
    texts = legend_texts(OverfittingDisplay.from_result(found).ax_)
    assert f"Gap: {found.gap[0]:.3f} in the lowest group, {found.gap[-1]:.3f} in the highest" in texts


@pytest.mark.parametrize("width", [4, None])
def test_nothing_overlaps_and_nothing_is_cut_off(found, width, assert_readable):
    ax = width and Figure(figsize=(width, 4), layout="constrained").add_subplot()
    assert_readable(OverfittingDisplay.from_result(found, ax=ax, name="A network").figure_)


def test_given_axes_are_drawn_into(found):
    ax = Figure().add_subplot()
    display = OverfittingDisplay.from_result(found, ax=ax)
    assert (display.ax_, display.figure_) == (ax, ax.figure)
    assert display.plot() is display


def test_groups_of_few_training_samples_are_faint(errorbars):
    proximity = np.arange(50.0)
    few = overfitting_by_proximity(np.ones(5), proximity[5::10], np.ones(50), proximity)
    labels = [label for *_, label in errorbars(OverfittingDisplay.from_result(few).ax_)]
    assert labels == ["Training samples", "Held-out samples", "Faint: fewer than 10 samples"]
