import numpy as np
import pytest
from matplotlib.figure import Figure

from proxcal.plots import GrowthDisplay, GrowthPoint
from proxcal.plots.growth import GUIDES


@pytest.fixture
def points():
    """A search that grows with samples and features, and a faster fit that grows with samples alone."""
    found = [GrowthPoint("search", "n", n, n**2 / 1e4, n / 10) for n in (100, 200, 400)]
    found += [GrowthPoint("search", "n_columns", d, 1.6 * d / 64, 40.0) for d in (16, 32, 64)]
    return [GrowthPoint("fit", "n", n, n / 1e4, np.nan) for n in (100, 200, 400)] + found


def lines(ax):
    return {line.get_label(): line for line in ax.lines if not line.get_label().startswith("_")}


def test_there_is_a_panel_for_each_size_that_grows(points):
    axes = GrowthDisplay.from_results(points).axes_
    assert [ax.get_xlabel() for ax in axes] == ["Samples", "Features"]


def test_a_stage_is_in_the_panels_of_what_it_depends_on(points):
    samples, features = GrowthDisplay.from_results(points).axes_
    assert set(lines(samples)) == {"search", "fit", GUIDES}
    assert set(lines(features)) == {"search", GUIDES}


def test_lines_go_through_the_points(points):
    line = lines(GrowthDisplay.from_results(points).axes_[0])["search"]
    np.testing.assert_allclose(line.get_data(), [[100, 200, 400], [1, 4, 16]])


def test_what_is_not_known_is_not_drawn(points):
    assert "fit" not in lines(GrowthDisplay.from_results(points, "megabytes").axes_[0])


def test_guides_are_the_size_and_its_square(points):
    ax = GrowthDisplay.from_results(points).axes_[0]
    first = next(line for line in ax.lines if line.get_label() == GUIDES)
    second = ax.lines[-1]
    assert [line.get_ydata()[-1] / line.get_ydata()[0] for line in (first, second)] == pytest.approx([4, 16])


def test_the_legend_goes_down_as_the_lines_do(points):
    (legend,) = GrowthDisplay.from_results(points).figure_.legends
    assert [text.get_text() for text in legend.get_texts()] == ["search", "fit", GUIDES]


def test_a_stage_looks_the_same_in_both_pictures(points):
    time, memory = (
        lines(GrowthDisplay.from_results(points, cost).axes_[1])["search"] for cost in ("seconds", "megabytes")
    )
    assert (time.get_color(), time.get_marker()) == (memory.get_color(), memory.get_marker())


def test_titles_say_what_does_not_grow(points):
    assert [ax.get_title() for ax in GrowthDisplay.from_results(points).axes_] == ["64 features", "400 samples"]


def test_it_draws_into_axes_given(points):
    axes = Figure().subplots(1, 2)
    assert GrowthDisplay.from_results([vars(point) for point in points], ax=axes, name="here").axes_ == list(axes)


def test_too_few_axes_are_refused(points):
    with pytest.raises(ValueError, match="ax has 1 axes; it needs one for each size that grows, 2"):
        GrowthDisplay.from_results(points, ax=[Figure().subplots()])


def test_another_cost_is_refused(points):
    with pytest.raises(ValueError, match="cost must be one of 'seconds', 'megabytes'; got 'euros'"):
        GrowthDisplay.from_results(points, "euros")


def test_no_points_are_refused():
    with pytest.raises(ValueError, match="points is empty"):
        GrowthDisplay.from_results([])
