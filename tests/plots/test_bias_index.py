import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from proxcal.plots import BiasIndexDisplay
from proxcal.plots.bias_index import LARGEST, MOST_FAMILIES

WHITE = "#ffffff"


def points(ax):
    """(accuracy, bias index) to (area, face colour) of each marker."""
    return {
        tuple(marker.get_offsets()[0].tolist()): (marker.get_sizes()[0], to_hex(marker.get_facecolor()[0]))
        for marker in ax.collections
        if len(marker.get_offsets()) == 1 and hasattr(marker, "get_sizes")
    }


def test_each_model_is_a_point_in_the_panel_of_its_calibrator(zoo):
    display = BiasIndexDisplay.from_results(zoo)
    assert len(display.axes_) == 3
    for ax, calibrator in zip(display.axes_, ("identity", "temperature", "temperature+ours"), strict=True):
        assert points(ax).keys() == {(r["accuracy"], r["bias_index"]) for r in zoo if r["calibrator"] == calibrator}


def test_significant_ones_are_filled_and_counted(zoo):
    display = BiasIndexDisplay.from_results(zoo, calibrators=["temperature"], name="Zoo")
    drawn = points(display.ax_)
    models = [model for model in zoo if model["calibrator"] == "temperature"]
    for model in models:
        filled = drawn[model["accuracy"], model["bias_index"]][1] != WHITE
        assert filled == (model["p_value"] < 0.05)
    assert display.ax_.get_title() == "Zoo\ntemperature\n3 of 6 models: p < 0.05"


def test_area_is_the_root_of_the_parameters(zoo):
    drawn = points(BiasIndexDisplay.from_results(zoo, calibrators=["identity"]).ax_)
    areas = {model["parameters"]: drawn[model["accuracy"], model["bias_index"]][0] for model in zoo[:6]}
    assert areas == {1e7: pytest.approx(LARGEST), 1e6: pytest.approx(LARGEST / np.sqrt(10))}


def test_families_differ_in_colour_and_in_marker(zoo, legend_texts):
    display = BiasIndexDisplay.from_results(zoo)
    assert legend_texts(display.ax_)[:3] == ["ResNet", "VGG", "ViT"]
    handles = display.ax_.get_legend().legend_handles[:3]
    assert len({handle.get_color() for handle in handles}) == len({handle.get_marker() for handle in handles}) == 3


def test_the_smallest_of_many_families_are_one(zoo, legend_texts):
    many = [zoo[0] | {"family": f"family {i // 2:02}"} for i in range(2 * MOST_FAMILIES)]
    few = [zoo[0] | {"family": name} for name in ("rare", "rarer", None)]
    assert legend_texts(BiasIndexDisplay.from_results(many + few).ax_)[MOST_FAMILIES] == "other"


def test_panels_have_the_same_axes(zoo):
    first, *rest = BiasIndexDisplay.from_results(zoo).axes_
    for ax in rest:
        assert (ax.get_xlim(), ax.get_ylim()) == (first.get_xlim(), first.get_ylim())


def test_interval_bars_are_drawn_where_known(zoo):
    ax = BiasIndexDisplay.from_results(zoo, calibrators=["identity"]).ax_
    bars = sorted(bar.get_segments()[0][:, 1].tolist() for bar in ax.collections if hasattr(bar, "get_segments"))
    assert bars == sorted([model["bias_low"], model["bias_high"]] for model in zoo[:6])


def test_model_accuracy_and_index_are_enough(zoo, legend_texts):
    bare = [{name: model[name] for name in ("model", "accuracy", "bias_index")} for model in zoo[:1]]
    ax = BiasIndexDisplay.from_results(bare).ax_
    ((_, face),) = points(ax).values()
    assert face != WHITE
    assert ax.get_title() == ""
    assert legend_texts(ax) == ["No proximity bias"]


@pytest.mark.parametrize("width", [4, 10])
def test_nothing_overlaps_and_nothing_is_cut_off(zoo, width, assert_readable):
    panels = Figure(figsize=(width, 9), layout="constrained").subplots(3 if width == 4 else 1, 1 if width == 4 else 3)
    display = BiasIndexDisplay.from_results(zoo, ax=panels)
    assert display.axes_ == list(panels)
    assert_readable(display.figure_)


def test_own_figure_is_readable_and_given_axes_are_drawn_into(zoo, assert_readable):
    assert_readable(BiasIndexDisplay.from_results(zoo).figure_)
    ax = Figure().add_subplot()
    display = BiasIndexDisplay.from_results(zoo[:6], ax=ax)
    assert (display.ax_, display.figure_) == (ax, ax.figure)


@pytest.mark.parametrize("n_columns", [None, 1, 3, 6])
def test_the_legend_stands_below_all_panels(zoo, n_columns, assert_readable):
    records = [record | {"calibrator": f"{record['calibrator']} {i}"} for record in zoo for i in range(2)]
    size = n_columns and (4 * n_columns, 24 / n_columns + 2)
    panels = n_columns and Figure(figsize=size, layout="constrained").subplots(6 // n_columns, n_columns).ravel()
    display = BiasIndexDisplay.from_results(records, ax=panels)
    assert_readable(display.figure_)
    (legend,) = [panel.get_legend() for panel in display.axes_ if panel.get_legend()]
    assert legend.get_window_extent().y1 < min(panel.get_window_extent().y0 for panel in display.axes_)


def test_axes_and_calibrators_that_do_not_fit_are_refused(zoo):
    with pytest.raises(ValueError, match="ax has 1 axes; it needs one for each of 3 calibrators"):
        BiasIndexDisplay.from_results(zoo, ax=Figure().add_subplot())
    with pytest.raises(ValueError, match="calibrators has 'votes'; results has 'identity', 'temperature'"):
        BiasIndexDisplay.from_results(zoo, calibrators=["votes"])
