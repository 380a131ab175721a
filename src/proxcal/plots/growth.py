"""How cost grows with samples, features and classes: a panel each, a line a stage, both axes logarithmic.

There a power is a straight line, and its slope is the power: the dotted guides are what doubles, and what quadruples,
as the size doubles. A stage is in the panels of what its cost depends on.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from proxcal.plots._style import REFERENCE, Style, styles, uncluttered

Cost = Literal["seconds", "megabytes"]
_LABELS: dict[Cost, str] = {"seconds": "Seconds", "megabytes": "Megabytes beyond the inputs"}
_SIZES = {"n": "samples", "n_columns": "features", "n_classes": "classes"}
GUIDES = "Dotted: as the size, as its square"
_PANEL = (3.4, 3.6)  # inches
_LEGEND_LINE, _LEGEND_COLUMNS = 0.19, 4
_LEAST = {"seconds": 1e-4, "megabytes": 0.01}  # below that it is the clock and the page that are measured


@dataclass(frozen=True)
class GrowthPoint:
    """What a stage took where `axis` ("n", "n_columns" or "n_classes") had this value; NaN where it is not known."""

    stage: str
    axis: str
    value: int
    seconds: float
    megabytes: float


class GrowthDisplay:
    """Seconds or megabytes against samples, features and classes.

    After `plot`, `axes_` holds the panels, `ax_` is the last, and `figure_` theirs.
    """

    def __init__(self, points: Sequence[GrowthPoint], cost: Cost = "seconds", *, name: str | None = None) -> None:
        self.points = points
        self.cost = cost
        self.name = name

    @classmethod
    def from_results(
        cls,
        points: Iterable[GrowthPoint | Mapping[str, Any]],
        cost: Cost = "seconds",
        *,
        ax: Sequence[Axes] | None = None,
        name: str | None = None,
    ) -> Self:
        """Draw points, or mappings with the same names, into as many axes as sizes grow, or a new figure."""
        made = [point if isinstance(point, GrowthPoint) else GrowthPoint(**point) for point in points]
        return cls(made, cost, name=name).plot(ax)

    def plot(self, ax: Sequence[Axes] | None = None) -> Self:
        if self.cost not in _LABELS:
            raise ValueError(f"cost must be one of {', '.join(map(repr, _LABELS))}; got {self.cost!r}")
        sizes = [axis for axis in _SIZES if any(point.axis == axis for point in self.points)]
        if not sizes:
            raise ValueError("points is empty; give what a stage took at two sizes or more")
        stages = self._longest_first()
        look = dict(zip(stages, styles(len(stages)), strict=True))
        axes = _panels(ax, len(sizes), len(stages))
        for panel, axis in zip(axes, sizes, strict=True):
            self._draw(panel, axis, look)
        for panel in axes:
            _add_guides(panel)
        axes[0].set_ylabel(_LABELS[self.cost])
        _legend(axes[0].figure, axes)
        if self.name is not None:
            axes[0].figure.suptitle(self.name, fontsize="medium")
        self.axes_, self.ax_, self.figure_ = axes, axes[-1], axes[-1].figure
        return self

    def _draw(self, panel: Axes, axis: str, look: Mapping[str, Style]) -> None:
        least = _LEAST[self.cost]
        panel.set_xscale("log")
        panel.set_yscale("log")
        for stage, style in look.items():
            known = sorted((p.value, getattr(p, self.cost)) for p in self._of(stage, axis))
            line = [(value, max(cost, least)) for value, cost in known if cost == cost]  # NaN is not itself
            if line:
                panel.plot(*zip(*line, strict=True), markersize=5, linewidth=1.3, label=stage, **style)
        values = sorted({point.value for point in self.points if point.axis == axis})
        panel.set_xticks(values, [f"{value:,}" for value in values], fontsize="small")
        panel.minorticks_off()
        panel.set_xlabel(_SIZES[axis].capitalize())
        panel.set_title(self._held(axis), fontsize="small")
        uncluttered(panel)

    def _longest_first(self) -> list[str]:
        """The stages, so that the legend goes down as the lines do; by time in both pictures, so that a stage looks the
        same in both."""
        longest: dict[str, float] = {}
        for point in self.points:
            longest[point.stage] = max(longest.get(point.stage, 0.0), point.seconds)
        return sorted(longest, key=lambda stage: -longest[stage])

    def _of(self, stage: str, axis: str) -> list[GrowthPoint]:
        return [point for point in self.points if (point.stage, point.axis) == (stage, axis)]

    def _held(self, axis: str) -> str:
        """What does not grow in this panel: the other sizes, at the largest they have in theirs."""
        largest = {other: max((p.value for p in self.points if p.axis == other), default=None) for other in _SIZES}
        return ", ".join(
            f"{largest[other]:,} {what}" for other, what in _SIZES.items() if other != axis and largest[other]
        )


def _panels(ax: Sequence[Axes] | None, n_panels: int, n_stages: int) -> list[Axes]:
    if ax is None:
        lines = -(-(n_stages + 1) // _LEGEND_COLUMNS)
        size = (_PANEL[0] * max(n_panels, 2), _PANEL[1] + _LEGEND_LINE * lines)
        figure = Figure(figsize=size, layout="constrained")
        return list(figure.subplots(1, n_panels, sharey=True, squeeze=False)[0])
    axes = list(ax)
    if len(axes) != n_panels:
        raise ValueError(f"ax has {len(axes)} axes; it needs one for each size that grows, {n_panels}")
    return axes


def _add_guides(panel: Axes) -> None:
    """From the left end of the highest line: what grows as the size, and as its square; the axes stay as they are."""
    lines = panel.get_lines()
    if not lines:
        return
    low, high = (end([float(end(np.asarray(line.get_xdata()))) for line in lines]) for end in (min, max))
    start = max(float(np.asarray(line.get_ydata())[0]) for line in lines)
    limits = panel.get_ylim()
    for power, label in ((1, GUIDES), (2, None)):
        panel.plot([low, high], [start, start * (high / low) ** power], linewidth=1, label=label, zorder=0, **REFERENCE)
    panel.set_ylim(limits)


def _legend(figure: Any, axes: Sequence[Axes]) -> None:
    entries = {label: handle for ax in axes for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    if GUIDES in entries:
        entries[GUIDES] = entries.pop(GUIDES)  # last
    figure.legend(
        entries.values(),
        entries.keys(),
        loc="outside lower left",
        ncols=_LEGEND_COLUMNS,
        fontsize="small",
        frameon=False,
    )
