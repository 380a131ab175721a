import numpy as np
import pytest

from proxcal.plots import SensitivityDisplay

METRICS = ("ece", "ace", "mce", "piece")


@pytest.fixture
def records():
    return [
        {"variant": str(k), "method": method, "metric": metric, "base": size, "ours": size * k / 100}
        for metric in METRICS
        for method, size in (("TS", 4.0), ("MIR", 2.0))
        for k in (1, 10, 100)
    ]


def lines(ax):
    return {line.get_label(): line.get_ydata() for line in ax.lines if not line.get_label().startswith("_")}


def test_a_panel_an_error_and_a_line_a_calibrator(records):
    axes = SensitivityDisplay.from_results(records, "K").axes_
    assert [ax.get_title() for ax in axes] == ["ECE", "ACE", "MCE", "PIECE"]
    drawn = lines(axes[3])
    assert list(drawn) == ["TS", "MIR"]
    np.testing.assert_allclose(drawn["TS"], [0.04, 0.4, 4])


def test_a_base_is_a_dashed_line_of_its_calibrators_colour(records):
    ax = SensitivityDisplay.from_results(records, "K").axes_[0]
    base, corrected = ax.lines[:2]
    assert base.get_color() == corrected.get_color()
    np.testing.assert_array_equal(base.get_ydata(), [4, 4, 4])


def test_values_come_in_their_order_and_the_axis_is_named(records):
    axes = SensitivityDisplay.from_results(records, "Neighbours").axes_
    assert [label.get_text() for label in axes[0].get_xticklabels()] == ["1", "10", "100"]
    assert [ax.get_xlabel() for ax in axes] == ["", "", "Neighbours", "Neighbours"]


def test_a_value_that_is_not_known_is_a_gap(records):
    drawn = lines(SensitivityDisplay.from_results(records[1:], "K").axes_[0])
    assert np.isnan(drawn["TS"]).sum() == 1


@pytest.mark.parametrize("n_methods", [1, 8])
def test_everything_fits(records, assert_readable, n_methods):
    many = [record | {"method": f"TS{i}"} for record in records for i in range(n_methods)]
    assert_readable(SensitivityDisplay.from_results(many, "Number of neighbours K", name="A study").figure_)
