"""The reliability diagram: accuracy against confidence, where a calibrated model lies on the diagonal.

Given proximity it draws the lowest and the highest proximity group, the picture of proximity bias: at the same
confidence the two are not equally often right. Each point has its Wilson interval, bars below say how many samples
stand behind it, and a point of very few is faint and off the line.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import Bbox
from numpy.typing import ArrayLike

from proxcal._validation import Bools, Floats, check_integer, check_samples
from proxcal.bias.groups import split_by_proximity
from proxcal.metrics.binning import BinTable, equal_width, equal_width_edges, tabulate
from proxcal.plots._style import (
    REFERENCE,
    STYLES,
    Style,
    axes_or_new,
    draw_accuracy,
    draw_accuracy_of_few,
    legend_below,
    legend_entries,
    part,
    uncluttered,
)

OUTERMOST = STYLES[:2]  # low, high; the second alone where there are no groups
HATCHES = {"v": "", "o": "////"}


@dataclass(frozen=True, eq=False)
class ReliabilityCurve:
    """One line of the diagram: a name, and its samples by confidence bins of equal width."""

    name: str
    table: BinTable

    @property
    def label(self) -> str:
        accuracy, confidence = (
            float(np.sum(self.table.weight * v)) for v in (self.table.accuracy, self.table.confidence)
        )
        return f"{self.name}: accuracy {accuracy:.3f}, confidence {confidence:.3f}"


class ReliabilityDisplay:
    """Reliability diagram with intervals and counts, in scikit-learn's Display manner.

    After `plot`, `ax_` holds the curves, `counts_ax_` the bars under them, and `figure_` both.
    """

    def __init__(self, curves: Sequence[ReliabilityCurve], *, name: str | None = None) -> None:
        self.curves = curves
        self.name = name

    @classmethod
    def from_predictions(
        cls,
        confidence: ArrayLike,
        correct: ArrayLike,
        proximity: ArrayLike | None = None,
        *,
        n_groups: int = 5,
        n_bins: int = 10,
        ax: Axes | None = None,
        name: str | None = None,
    ) -> Self:
        """Draw all samples or, given `proximity`, the lowest and the highest of `n_groups` equal-count groups by it."""
        n_bins = check_integer("n_bins", n_bins, at_least=1)
        if proximity is None:
            samples = check_samples(confidence=confidence, correct=correct)
            curves = [_curve("All samples", n_bins, *samples)]
        else:
            n_groups = check_integer("n_groups", n_groups, at_least=2)
            samples = check_samples(confidence=confidence, correct=correct, proximity=proximity, at_least=n_groups)
            curves = _outermost_groups(n_groups, n_bins, *samples)
        return cls(curves, name=name).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw into `ax`, whose lower part becomes the bars of counts, or into a new figure."""
        ax = axes_or_new(ax, (5, 6))
        counts_ax = _split_off_counts(ax)
        styles = OUTERMOST[-len(self.curves) :]
        ax.plot([0, 1], [0, 1], **REFERENCE, label="Calibrated")
        _draw_curves(ax, self.curves, styles)
        _draw_counts(counts_ax, self.curves, styles)
        _label(ax, counts_ax, self.name)
        legend_below(counts_ax, legend_entries(ax))
        self.ax_, self.counts_ax_, self.figure_ = ax, counts_ax, ax.figure
        return self


def before_after(
    before: ArrayLike,
    after: ArrayLike,
    correct: ArrayLike,
    proximity: ArrayLike | None = None,
    *,
    n_groups: int = 5,
    n_bins: int = 10,
    names: tuple[str, str] = ("Before", "After"),
) -> Figure:
    """Two reliability diagrams of the same predictions: with the confidence `before` and `after` calibration."""
    figure = Figure(figsize=(10, 6), layout="constrained")
    panels = figure.subplots(1, 2)
    for ax, confidence, name in zip(panels, (before, after), names, strict=True):
        ReliabilityDisplay.from_predictions(
            confidence, correct, proximity, n_groups=n_groups, n_bins=n_bins, ax=ax, name=name
        )
    return figure


def _outermost_groups(
    n_groups: int, n_bins: int, confidence: Floats, correct: Bools, proximity: Floats
) -> list[ReliabilityCurve]:
    groups = split_by_proximity(proximity, n_groups)
    outermost = {
        f"Lowest proximity {part(n_groups)}": groups == 0,
        f"Highest proximity {part(n_groups)}": groups == n_groups - 1,
    }
    return [_curve(name, n_bins, confidence[group], correct[group]) for name, group in outermost.items()]


def _curve(name: str, n_bins: int, confidence: Floats, correct: Bools) -> ReliabilityCurve:
    return ReliabilityCurve(name, tabulate(equal_width(confidence, n_bins), n_bins, confidence, correct))


def _split_off_counts(ax: Axes) -> Axes:
    """New axes in what was the lower fifth of `ax`, under any layout."""
    grid_cell = ax.get_subplotspec()
    if grid_cell is None:
        box = ax.get_position()
        cut = box.y0 + 0.24 * box.height
        ax.set_position(Bbox.from_extents(box.x0, cut, box.x1, box.y1))
        return ax.figure.add_axes((box.x0, box.y0, box.width, 0.2 * box.height), sharex=ax)
    rows = grid_cell.subgridspec(2, 1, height_ratios=(4, 1), hspace=0.08)
    ax.set_subplotspec(rows[0])
    return ax.figure.add_subplot(rows[1], sharex=ax)


def _draw_curves(ax: Axes, curves: Sequence[ReliabilityCurve], styles: Sequence[Style]) -> None:
    for draw in (draw_accuracy, draw_accuracy_of_few):
        for curve, style in zip(curves, styles, strict=True):
            table = curve.table
            draw(ax, table.confidence, table.accuracy, table.count, **style, label=curve.label)


def _draw_counts(counts_ax: Axes, curves: Sequence[ReliabilityCurve], styles: Sequence[Style]) -> None:
    """For each confidence bin a bar a curve, side by side."""
    for position, (curve, style) in enumerate(zip(curves, styles, strict=True)):
        edges = equal_width_edges(len(curve.table.count))
        bin_width = edges[1]
        width = 0.9 * bin_width / len(curves)
        left = edges[:-1] + 0.05 * bin_width + position * width
        hatch = HATCHES[style["marker"]]
        counts_ax.bar(
            left, curve.table.count, width, align="edge", facecolor=style["color"], edgecolor="white", hatch=hatch
        )


def _label(ax: Axes, counts_ax: Axes, name: str | None) -> None:
    limits = (-0.02, 1.02)  # a point on the border is not cut
    ax.set(xlim=limits, ylim=limits, ylabel="Accuracy", title=name or "")
    ax.tick_params(labelbottom=False)
    counts_ax.set(xlabel="Confidence", ylabel="Samples")
    counts_ax.yaxis.set_major_locator(MaxNLocator(3, integer=True))
    uncluttered(ax, counts_ax)
    ax.figure.align_ylabels([ax, counts_ax])
