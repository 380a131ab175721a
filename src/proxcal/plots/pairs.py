"""Base calibrators and the same corrected by proximity, by several errors, beside other figures for the same: those
that a paper prints, say. Do they agree in size, and in which of the two is better?

A panel an error, a row a calibrator: hollow the base, filled corrected. Below each pair, in grey, the figures beside.
"""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes

from proxcal._validation import Floats
from proxcal.plots._errors import SHORT
from proxcal.plots._records import Results, Row, rows
from proxcal.plots._style import STYLES, Style, legend_entries, legend_of_figure, panels, uncluttered

ROW_HEIGHT, HEIGHT_OF_REST, WIDTH = 0.32, 1.3, 10.0  # inches
APART = 0.16  # of a row, from its middle
OURS: Style = {"color": STYLES[1]["color"], "marker": STYLES[1]["marker"]}
BESIDE: Style = {"color": "0.45", "marker": "D"}


class PairsDisplay:
    """Errors of base calibrators and of the same corrected, here and beside.

    After `plot`, `axes_` holds a panel an error, and `figure_` is their figure.
    """

    def __init__(self, records: Sequence[Row], *, beside: str = "beside", name: str | None = None) -> None:
        self.records = records
        self.beside = beside
        self.name = name

    @classmethod
    def from_results(cls, results: Results, *, beside: str = "beside", name: str | None = None) -> Self:
        """Draw records or columns `method`, `metric`, `base`, `ours` and, where known, `model` and `beside_base`,
        `beside_ours`; `beside` says in the legend whose figures these are."""
        numbers = ("base", "ours", "beside_base", "beside_ours")
        found = rows(results, ("model", "method", "metric"), numbers, ("model", *numbers[2:]))
        return cls(found, beside=beside, name=name).plot()

    def plot(self) -> Self:
        labels = list(dict.fromkeys(_label(record) for record in self.records))
        metrics = list(dict.fromkeys(record["metric"] for record in self.records))
        height = HEIGHT_OF_REST + ROW_HEIGHT * len(labels)
        figure, axes = panels(len(metrics), width=WIDTH, height=height, n_columns=len(metrics))
        for panel, metric in zip(axes, metrics, strict=True):
            of_metric = {_label(record): record for record in self.records if record["metric"] == metric}
            _draw(panel, [of_metric.get(label, {}) for label in labels], self.beside)
            panel.set(title=SHORT.get(metric, metric), ylim=(len(labels) - 0.4, -0.6))
            panel.set_yticks(range(len(labels)), labels if panel is axes[0] else [], fontsize="small")
            panel.grid(axis="x", color="0.9", linewidth=0.8)
            panel.set_axisbelow(True)
        uncluttered(*axes)
        self.axes_, self.figure_ = axes, figure
        figure.suptitle(self.name or "", fontsize="medium")
        legend_of_figure(figure, legend_entries(axes[0]))
        return self


def _label(record: Row) -> str:
    return " ".join(filter(None, (record["model"], record["method"])))


def _draw(ax: Axes, records: Sequence[Row], beside: str) -> None:
    position = np.arange(float(len(records)))
    here = _values(records, "base"), _values(records, "ours")
    there = _values(records, "beside_base"), _values(records, "beside_ours")
    _draw_pair(ax, position - APART, here, OURS, "here")
    if np.isfinite(there[0]).any():
        _draw_pair(ax, position + APART, there, BESIDE, beside)


def _values(records: Sequence[Row], name: str) -> Floats:
    return np.array([np.nan if record.get(name) is None else record[name] for record in records], dtype=np.float64)


def _draw_pair(ax: Axes, position: Floats, pair: tuple[Floats, Floats], look: Style, whose: str) -> None:
    base, ours = pair
    marks: dict[str, Any] = {"linestyle": "none", "markersize": 5}
    ax.hlines(position, base, ours, color=look["color"], linewidth=1, alpha=0.7)
    ax.plot(base, position, **look, **marks, markerfacecolor="white", label=f"Base, {whose}")
    ax.plot(ours, position, **look, **marks, label=f"With proximity, {whose}")
