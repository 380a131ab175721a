import numpy as np
import pytest
from matplotlib.figure import Figure

from proxcal.plots import ShiftDisplay


@pytest.fixture
def shifts():
    return [
        {"shift": shift, "severity": severity, "calibrator": name, "piece": (1 + severity) * size, "piece_floor": 0.01}
        for shift in ("noise", "blur")
        for severity in (1, 3, 5)
        for name, size in (("temperature", 0.05), ("temperature+ours", 0.02), ("isotonic", 0.04))
    ]


def bars(ax):
    return {container.get_label(): [bar.get_width() for bar in container] for container in ax.containers}


def test_bars_are_the_errors_by_calibrator(shifts):
    drawn = bars(ShiftDisplay.from_results(shifts).ax_)
    assert list(drawn) == ["temperature", "temperature+ours", "isotonic"]
    for name, lengths in drawn.items():
        assert lengths == [record["piece"] for record in shifts if record["calibrator"] == name]


def test_bars_of_reduction_are_base_less_corrected(shifts):
    drawn = bars(ShiftDisplay.from_results(shifts, reduction=True).ax_)
    assert list(drawn) == ["temperature − temperature+ours"]
    np.testing.assert_allclose(drawn["temperature − temperature+ours"], 2 * [0.06, 0.12, 0.18])


def test_groups_are_named_and_in_the_middle_of_their_bars(shifts):
    ax = ShiftDisplay.from_results(shifts).ax_
    assert [label.get_text() for label in ax.get_yticklabels()][:4] == ["noise 1", "noise 3", "noise 5", "blur 1"]
    middle = [container[0].get_y() + container[0].get_height() / 2 for container in ax.containers]
    assert ax.get_yticks()[0] == pytest.approx(np.mean(middle))


def test_no_two_bars_overlap_and_shifts_stand_apart(shifts):
    ax = ShiftDisplay.from_results(shifts).ax_
    edges = np.sort([[bar.get_y(), bar.get_y() + bar.get_height()] for c in ax.containers for bar in c], axis=0)
    gaps = edges[1:, 0] - edges[:-1, 1]
    assert np.all(gaps > 0)
    assert np.argmax(gaps) == 8  # after the nine bars of noise


def test_without_severity_groups_are_the_shifts(shifts):
    records = [{name: value for name, value in r.items() if name != "severity"} for r in shifts if r["severity"] == 1]
    labels = [label.get_text() for label in ShiftDisplay.from_results(records).ax_.get_yticklabels()]
    assert labels == ["noise", "blur"]


def test_models_and_seeds_are_averaged(shifts):
    twice = shifts + [record | {"piece": record["piece"] + 0.02} for record in shifts]
    once, averaged = (bars(ShiftDisplay.from_results(records).ax_)["isotonic"] for records in (shifts, twice))
    np.testing.assert_allclose(averaged, np.array(once) + 0.01)


def test_noise_floors_are_drawn_last_in_the_legend(shifts, legend_texts):
    ax = ShiftDisplay.from_results(shifts).ax_
    assert legend_texts(ax)[-1] == "Noise floor: a calibrated model"
    np.testing.assert_allclose(ax.lines[0].get_xdata(), 0.01)


@pytest.mark.parametrize("reduction", [False, True])
@pytest.mark.parametrize("width", [4, None])
def test_nothing_overlaps_and_nothing_is_cut_off(shifts, reduction, width, assert_readable):
    ax = width and Figure(figsize=(width, 6), layout="constrained").add_subplot()
    assert_readable(ShiftDisplay.from_results(shifts, reduction=reduction, ax=ax, name="A network").figure_)


def test_a_group_that_a_calibrator_lacks_stays_empty(shifts, assert_readable):
    display = ShiftDisplay.from_results(shifts[1:])
    assert np.isnan(bars(display.ax_)["temperature"][0])
    assert_readable(display.figure_)


def test_given_axes_are_drawn_into(shifts):
    ax = Figure().add_subplot()
    display = ShiftDisplay.from_results(shifts, ax=ax)
    assert (display.ax_, display.figure_) == (ax, ax.figure)
    assert display.plot() is display


def test_reduction_without_a_pair_is_refused(shifts):
    with pytest.raises(ValueError, match="results has no base beside its correction"):
        ShiftDisplay.from_results([r for r in shifts if r["calibrator"] != "temperature"], reduction=True)
