"""The tables of the page: a row a thing, a column a stage, and under each number how sure it is."""

from collections.abc import Callable, Sequence

import numpy as np

from proxcal.bias import OverfittingByProximity
from proxcal.metrics import MetricInterval, PairedDifference
from proxcal.report._html import Markup, element, table
from proxcal.report.facts import N_GROUPS, Audit, Group, Sample, Stage
from proxcal.report.figures import thumbnail
from proxcal.report.verdict import p_text, points

UNKNOWN = "not known"
FIFTHS = ("lowest fifth", "second", "third", "fourth", "highest fifth")
IN_POINTS = {
    "ece": ("ECE", "mean error over confidence"),
    "ace": ("ACE", "the same, equal-count bins"),
    "mce": ("MCE", "largest error of a bin"),
    "piece": ("PIECE", "mean error over confidence and proximity"),
}
LOSSES = {"nll": ("NLL", "log loss of the confidence"), "brier": ("Brier", "squared error of the confidence")}


def tests(audit: Audit) -> Markup:
    headers = [
        "Stage",
        "Bias index",
        "p\u00a0value",
        "Pairs",
        "Right, low proximity",
        "Right, high proximity",
        "Confidence",
    ]
    headers.append(stacked("Along proximity", "p value"))
    return table(
        "Both tests, shares in percent; under the index its 95 % interval", headers, list(map(_test, audit.stages))
    )


def _test(stage: Stage) -> list[object]:
    bias, along = stage.bias, _p_value(stage.along_proximity.p_value)
    if bias is None:
        return [stage.title, *[UNKNOWN] * 6, along]
    return [
        stage.title,
        stacked(points(bias.bias_index), _interval(bias.low, bias.high)),
        _p_value(bias.p_value),
        bias.n_pairs,
        points(bias.accuracy_low),
        points(bias.accuracy_high),
        points((bias.confidence_low + bias.confidence_high) / 2),
        along,
    ]


def _p_value(p_value: float) -> str:
    return p_text(p_value).removeprefix("p ").removeprefix("= ")


def by_proximity(audit: Audit) -> Markup | None:
    """None where there are no fifths."""
    columns: list[tuple[object, list[object]]] = []
    shown: Stage | None = None
    for stage in audit.stages:
        if stage.groups is None:
            return None
        if shown is None or not np.array_equal(stage.outcome.correct, shown.outcome.correct):
            header = "Right" if shown is None else stacked("Right", stage.lower_title)
            columns.append((header, [_right(group) for group in stage.groups]))
            shown = stage
        columns.append((stage.title, [_trust(group) for group in stage.groups]))
    first = audit.stages[0].groups or ()
    names = [
        stacked(name, f"proximity {proximity(group.proximity)}") for name, group in zip(FIFTHS, first, strict=True)
    ]
    rows = [[name, first[i].count, *(cells[i] for _, cells in columns)] for i, name in enumerate(names)]
    headers = ["By proximity", "Samples", *(header for header, _ in columns)]
    return table("Fifths of the test samples, in percent: how often right, mean confidence, and the gap", headers, rows)


def _right(group: Group) -> Markup:
    return stacked(points(group.accuracy), _interval(group.low, group.high))


def _trust(group: Group) -> Markup:
    return stacked(points(group.confidence), f"gap {signed(points(group.gap))}")


def errors(audit: Audit) -> Markup:
    """Every metric of every stage, and after against before."""
    headers = ["Error", *(stage.title for stage in audit.stages), stacked("Change", "by ProCal")]
    rows: list[list[object]] = []
    for name, words in (IN_POINTS | LOSSES).items():
        show = points if name in IN_POINTS else plain
        cells = [_metric(stage.metrics[name], show) for stage in audit.stages]
        rows.append([stacked(*words), *cells, _change(audit.comparison[name], show)])
    accuracies = [stacked(points(s.accuracy.value), _interval(s.accuracy.low, s.accuracy.high)) for s in audit.stages]
    rows.append([stacked("Accuracy", "predictions that are right"), *accuracies, _accuracy_change(audit)])
    return table("ECE, ACE, MCE, PIECE and accuracy in percent, losses as they are", headers, rows)


def _metric(found: MetricInterval, show: Callable[[float], str]) -> Markup:
    return stacked(show(found.value), f"{show(found.low)} to {show(found.high)}", f"floor {show(found.noise_floor)}")


def _change(found: PairedDifference, show: Callable[[float], str]) -> Markup:
    return stacked(signed(show(found.difference)), f"{show(found.low)} to {show(found.high)}", p_text(found.p_value))


def _accuracy_change(audit: Audit) -> str:
    change = audit.after.accuracy.value - audit.before.accuracy.value
    return signed(points(change)) if change else "none"


def samples(audit: Audit) -> Markup:
    """The most overconfident ones."""
    with_ids = any(sample.id is not None for sample in audit.overconfident)
    with_images = any(sample.image is not None for sample in audit.overconfident)
    headers = [
        "Row",
        *(["Id"] if with_ids else []),
        *(["Input"] if with_images else []),
        "Proximity",
        "Predicted class",
    ]
    headers += ["Label", *(stage.title for stage in audit.stages)]
    rows = [_sample(sample, audit.stages, with_ids, with_images) for sample in audit.overconfident]
    return table(
        "Confidence in percent; all of these predictions are wrong", headers, rows, of_text=[1] if with_ids else []
    )


def _sample(sample: Sample, stages: Sequence[Stage], with_ids: bool, with_images: bool) -> list[object]:
    picture = "" if sample.image is None else thumbnail(sample.image, f"Input of row {sample.row}")
    return [
        sample.row,
        *([sample.id] if with_ids else []),
        *([picture] if with_images else []),
        proximity(sample.proximity),
        sample.predicted,
        sample.label,
        *(points(sample.confidence[stage.name]) for stage in stages),
    ]


def overfitting(found: OverfittingByProximity) -> Markup:
    rows = [
        [
            FIFTHS[i],
            stacked(points(found.train_accuracy[i]), f"{found.train_count[i]} samples"),
            stacked(points(found.accuracy[i]), f"{found.count[i]} samples"),
            stacked(signed(points(found.gap[i])), _interval(found.gap_low[i], found.gap_high[i])),
        ]
        for i in range(N_GROUPS)
    ]
    headers = ["By proximity", "Right, training", "Right, held out", "Difference"]
    return table("Training and held-out samples of equal proximity, in percent", headers, rows)


def stacked(value: object, *below: object) -> Markup:
    """A value, and what qualifies it in small print under it."""
    return element("span", value, *(element("small", each) for each in below))


def signed(number: str) -> str:
    return number if number.startswith("−") or number.strip("0.") == "" else f"+{number}"


def proximity(value: float) -> str:
    return f"{value:.3f}" if value >= 0.01 else f"{value:.1e}"


def plain(value: float) -> str:
    return f"{round(value, 4) + 0.0:.4f}".replace("-", "−")


def _interval(low: float, high: float) -> str:
    return f"{points(low)} to {points(high)}"
