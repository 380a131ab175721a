"""Calibration error under shift: what is left of a calibration where inputs are no longer those it was learned on.

Bars in groups by shift and severity, one for each calibrator; or, of each base and the same base corrected by
proximity, one bar for what the correction took off the error. Ticks are noise floors, where they are known.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np
from matplotlib.axes import Axes

from proxcal._validation import Floats
from proxcal.plots._errors import METRICS, Method, draw_floors, error_rows, label_error, means, methods, pairs
from proxcal.plots._records import Results, Row
from proxcal.plots._style import LEGEND_LINE, Style, axes_or_new

HATCHES = ("////", "\\\\\\\\", "xxxx", "....", "||||", "----", "++++")
GAP, GAP_OF_SHIFTS = 1.0, 0.7  # between groups, and more where the shift changes, in bars
BAR_HEIGHT, HEIGHT_OF_REST = 0.15, 1.4  # inches
Group = tuple[str, str | None]


@dataclass(frozen=True)
class _Series:
    """One bar in each group."""

    label: str
    look: Style
    length: Floats
    floor: Floats


class ShiftDisplay:
    """Calibration error, or its reduction, by shift, severity and calibrator.

    After `plot`, `ax_` holds it all, and `figure_` is its figure.
    """

    def __init__(
        self, records: Sequence[Row], metric: str, *, reduction: bool = False, name: str | None = None
    ) -> None:
        self.records = records
        self.metric = metric
        self.reduction = reduction
        self.name = name

    @classmethod
    def from_results(
        cls,
        results: Results,
        metric: str = "piece",
        *,
        reduction: bool = False,
        ax: Axes | None = None,
        name: str | None = None,
    ) -> Self:
        """Draw records or columns `shift`, `calibrator`, the metric under its name and, where known, `severity` and
        the noise floor, as "piece_floor" or through "piece_minus_floor". Of several records with the same shift,
        severity and calibrator (models, seeds) the mean is drawn; `reduction=True` draws differences of pairs."""
        records = error_rows(results, ("shift", "severity"), metric)
        return cls(records, metric, reduction=reduction, name=name).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        groups: list[Group] = list(dict.fromkeys((record["shift"], record["severity"]) for record in self.records))
        series = _reductions(self.records, groups) if self.reduction else _errors(self.records, groups)
        first = _first_bars(groups, len(series))
        extent = first[-1] + len(series)
        ax = axes_or_new(ax, (6, HEIGHT_OF_REST + BAR_HEIGHT * extent + LEGEND_LINE * (1 + len(series))))
        for place, each in enumerate(series):
            ax.barh(first + place, each.length, 0.9, **each.look, label=each.label)
        for place, each in enumerate(series):
            draw_floors(ax, each.floor, first + place)
        ax.set_yticks(first + (len(series) - 1) / 2, [" ".join(filter(None, group)) for group in groups])
        ax.set_ylim(extent, -1)
        ax.tick_params(axis="y", length=0)
        label_error(ax, f"Reduction of: {METRICS[self.metric]}" if self.reduction else METRICS[self.metric], self.name)
        if self.reduction:
            ax.axvline(0, color="0.3", linewidth=0.8)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _errors(records: Sequence[Row], groups: Sequence[Group]) -> list[_Series]:
    return [
        _Series(
            each.name, _look(each), _values(records, "value", groups, each), _values(records, "floor", groups, each)
        )
        for each in methods(records)
    ]


def _reductions(records: Sequence[Row], groups: Sequence[Group]) -> list[_Series]:
    found = pairs(methods(records))
    if not found:
        raise ValueError(
            "results has no base beside its correction, such as 'temperature' and 'temperature+ours', so there is no "
            "reduction to draw"
        )
    return [
        _Series(
            f"{base.name} − {corrected.name}",
            _look(corrected),
            _values(records, "value", groups, base) - _values(records, "value", groups, corrected),
            np.full(len(groups), np.nan),
        )
        for base, corrected in found
    ]


def _look(method: Method) -> Style:
    colour = method.style["color"]
    if method.is_base:
        return {"facecolor": "white", "edgecolor": colour, "hatch": HATCHES[method.pair % len(HATCHES)]}
    return {"facecolor": colour, "edgecolor": colour}


def _values(records: Sequence[Row], what: str, groups: Sequence[Group], method: Method) -> Floats:
    """A value a group, NaN where there is none."""
    own = [record for record in records if record["calibrator"] == method.name]
    found = means(own, what, ("shift", "severity"))
    return np.array([found.get(group, np.nan) for group in groups])


def _first_bars(groups: Sequence[Group], n_bars: int) -> Floats:
    """Where each group's first bar lies, downwards, bars one apart."""
    shifts = [shift for shift, _ in groups]
    changes = np.cumsum([0] + [before != after for before, after in pairwise(shifts)])
    return np.arange(len(groups)) * (n_bars + GAP) + GAP_OF_SHIFTS * changes
