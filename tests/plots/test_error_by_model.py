import numpy as np
import pytest
from matplotlib.figure import Figure

from proxcal.plots import ErrorByModelDisplay
from proxcal.plots.error_by_model import MOST_NAMES


def drawn(ax):
    return {line.get_label(): line for line in ax.lines}


def values(records, calibrator, metric="piece"):
    """By accuracy, as the models' rows are."""
    chosen = [record for record in records if record["calibrator"] == calibrator]
    return [record[metric] for record in sorted(chosen, key=lambda record: record["accuracy"])]


def test_each_calibrator_has_a_marker_a_model_in_order_of_accuracy(zoo):
    lines = drawn(ErrorByModelDisplay.from_results(zoo).ax_)
    for name in ("identity", "temperature", "temperature+ours"):
        (line,) = [line for label, line in lines.items() if label.startswith(f"{name}: mean ")]
        assert sorted(line.get_xdata()) == sorted(values(zoo, name))
        np.testing.assert_allclose(np.diff(line.get_ydata()), 1)


def test_rows_go_by_accuracy_and_are_named(zoo):
    texts = [label.get_text() for label in ErrorByModelDisplay.from_results(zoo).ax_.get_yticklabels()]
    accuracies = [float(text.split("(")[1][:-1]) for text in texts]
    assert accuracies == sorted(accuracies)
    assert texts[-1] == "ViT-1 (0.770)"


def test_legend_gives_the_mean_of_each_calibrator(zoo, legend_texts):
    texts = legend_texts(ErrorByModelDisplay.from_results(zoo).ax_)
    assert texts[1] == f"temperature: mean {np.mean(values(zoo, 'temperature')):.4f}"


def test_lines_lead_from_each_base_to_the_base_with_proximity(zoo):
    (lines,) = ErrorByModelDisplay.from_results(zoo).ax_.collections
    ends = np.sort([segment[:, 0] for segment in lines.get_segments()], axis=0)
    np.testing.assert_allclose(
        ends, np.sort(np.transpose([values(zoo, "temperature"), values(zoo, "temperature+ours")]), axis=0)
    )


def test_a_pair_has_one_colour_hollow_before_and_filled_after(zoo):
    lines = drawn(ErrorByModelDisplay.from_results(zoo).ax_)
    raw, before, after = (lines[label] for label in list(lines)[:3])
    assert before.get_color() == after.get_color() != raw.get_color()
    assert before.get_markerfacecolor() == "white" != after.get_markerfacecolor()


@pytest.mark.parametrize("given", ["piece_floor", "piece_minus_floor"])
def test_the_noise_floor_is_drawn_where_known(zoo, given):
    records = [record | {"piece_minus_floor": record["piece"] - 0.02} for record in zoo]
    columns = {name: [r[name] for r in records] for name in ("model", "accuracy", "calibrator", "piece", given)}
    lines = drawn(ErrorByModelDisplay.from_results(columns).ax_)
    np.testing.assert_allclose(lines["Noise floor: a calibrated model"].get_xdata(), 0.02)


def test_without_a_floor_there_is_no_mark(zoo):
    records = [record | {"ece": 0.1} for record in zoo]
    assert "Noise floor: a calibrated model" not in drawn(ErrorByModelDisplay.from_results(records, metric="ece").ax_)


def test_seeds_are_averaged(zoo):
    twice = zoo + [record | {"piece": record["piece"] + 0.01} for record in zoo]
    lines = drawn(ErrorByModelDisplay.from_results(twice).ax_)
    np.testing.assert_allclose(
        sorted(next(iter(lines.values())).get_xdata()), np.array(sorted(values(zoo, "identity"))) + 0.005
    )


def test_a_model_that_a_calibrator_lacks_leaves_a_gap(zoo):
    lines = drawn(ErrorByModelDisplay.from_results(zoo[1:]).ax_)
    assert np.isnan(next(iter(lines.values())).get_xdata()).sum() == 1


def test_long_names_lose_their_middle_and_leave_room(zoo, assert_readable):
    records = [
        record | {"model": f"vit_large_patch14_clip_336.openai_ft_in12k_in1k_{record['model']}"} for record in zoo
    ]
    display = ErrorByModelDisplay.from_results(records)
    assert display.ax_.get_yticklabels()[-1].get_text() == "vit_large_patch14_c…in1k_ViT-1 (0.770)"
    assert_readable(display.figure_)
    assert display.ax_.get_window_extent().width > display.figure_.bbox.width / 2


@pytest.mark.parametrize("n", [1, 6, MOST_NAMES, 500])
@pytest.mark.parametrize("width", [4, None])
def test_nothing_overlaps_and_nothing_is_cut_off(zoo, n, width, assert_readable):
    records = [
        zoo[i % 18] | {"model": f"network {i // 3}", "calibrator": zoo[i % 3 * 6]["calibrator"]} for i in range(3 * n)
    ]
    ax = width and Figure(figsize=(width, 9), layout="constrained").add_subplot()
    assert_readable(ErrorByModelDisplay.from_results(records, ax=ax, name="Zoo").figure_)


def test_many_calibrators_of_few_models_are_readable(zoo, assert_readable):
    names = [f"{base}-calibrator{ours}" for base in "abcdefgh" for ours in ("", "+ours")]
    records = [zoo[0] | {"calibrator": name, "piece": 0.01 * i} for i, name in enumerate(names)]
    display = ErrorByModelDisplay.from_results(records)
    assert_readable(display.figure_)
    places = {round(float(line.get_ydata()[0]), 6) for line in display.ax_.lines}
    apart = np.diff([display.ax_.transData.transform((0, y))[1] for y in sorted(places)])
    assert apart.min() >= display.ax_.lines[0].get_markersize() * display.figure_.dpi / 72


def test_given_axes_are_drawn_into(zoo):
    ax = Figure().add_subplot()
    display = ErrorByModelDisplay.from_results(zoo, ax=ax)
    assert (display.ax_, display.figure_) == (ax, ax.figure)
    assert display.plot() is display


def test_an_unknown_metric_is_refused(zoo):
    with pytest.raises(ValueError, match=r"metric must be one of 'ece', .*; got 'pece'"):
        ErrorByModelDisplay.from_results(zoo, metric="pece")
