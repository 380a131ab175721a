"""The bias index of many models against their accuracy, a panel a calibrator: is proximity bias common, and what helps?

Each marker is a model, its area the square root of the number of parameters, its colour and shape the family; filled
where the index is significant. All panels have the same axes, so that before and after calibration compare.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from proxcal.plots._records import Results, Row, rows
from proxcal.plots._style import REFERENCE, Style, legend_below, styles, uncluttered

LEVEL = 0.05
MOST_FAMILIES = 9
OTHER = "other"
OTHER_STYLE: Style = {"color": "0.45", "marker": "."}
LARGEST, SMALLEST, USUAL = 170.0, 12.0, 45.0  # areas of markers in square points
MOST_INTERVALS = 60  # models: the bars of more are a thicket
PANEL, LEGEND_HEIGHT = (4.2, 3.8), 1.2  # inches
MOST_ABREAST = 3
MARGIN = 0.08  # of each axis: room for half a marker
INTERVAL: Style = {"linewidth": 0.8, "alpha": 0.5}
KEY: Style = {"color": "0.3", "marker": "o", "linestyle": "none"}


class BiasIndexDisplay:
    """Bias index against accuracy for many models.

    After `plot`, `axes_` holds the panels, one for each of `calibrators`, `ax_` is the first, and `figure_` theirs.
    """

    def __init__(self, models: Sequence[Row], calibrators: Sequence[str | None], *, name: str | None = None) -> None:
        self.models = models
        self.calibrators = calibrators
        self.name = name

    @classmethod
    def from_results(
        cls,
        results: Results,
        *,
        calibrators: Sequence[str] | None = None,
        ax: Axes | Sequence[Axes] | None = None,
        name: str | None = None,
    ) -> Self:
        """Draw records or columns `model`, `accuracy`, `bias_index` and, where known, `family`, `parameters`,
        `p_value`, the interval `bias_low` to `bias_high`, and `calibrator`: a panel for each, or for those named."""
        models = rows(
            results,
            ("model", "family", "calibrator"),
            ("accuracy", "bias_index", "p_value", "parameters", "bias_low", "bias_high"),
            ("family", "calibrator", "p_value", "parameters", "bias_low", "bias_high"),
        )
        found = list(dict.fromkeys(model["calibrator"] for model in models))
        for wanted in calibrators or ():
            if wanted not in found:
                raise ValueError(f"calibrators has {wanted!r}; results has {', '.join(map(repr, found))}")
        return cls(models, found if calibrators is None else list(calibrators), name=name).plot(ax)

    def plot(self, ax: Axes | Sequence[Axes] | None = None) -> Self:
        panels = _panels(ax, len(self.calibrators))
        looks = _family_styles(self.models)
        most = _most_parameters(self.models)
        shown = [[model for model in self.models if model["calibrator"] == name] for name in self.calibrators]
        for panel, name, models in zip(panels, self.calibrators, shown, strict=True):
            _draw(panel, models, looks, most)
            _label(panel, [text for text in (self.name, name, _verdict(models)) if text])
        _share_limits(panels)
        legend_below(_lowest(panels), _legend(self.models, looks, most), n_columns=2)
        self.axes_, self.ax_, self.figure_ = panels, panels[0], panels[0].figure
        return self


def _panels(ax: Axes | Sequence[Axes] | None, n: int) -> list[Axes]:
    if ax is None:
        n_columns = min(n, MOST_ABREAST)
        n_rows = -(-n // n_columns)
        figure = Figure(figsize=(PANEL[0] * n_columns, PANEL[1] * n_rows + LEGEND_HEIGHT), layout="constrained")
        return [figure.add_subplot(n_rows, n_columns, place + 1) for place in range(n)]
    panels = [ax] if isinstance(ax, Axes) else list(ax)
    if len(panels) != n:
        raise ValueError(f"ax has {len(panels)} axes; it needs one for each of {n} calibrators")
    return panels


def _lowest(panels: Sequence[Axes]) -> Axes:
    """The first panel of the last row."""
    return min(panels, key=lambda panel: (round(panel.get_position().y0, 3), panel.get_position().x0))


def _family_styles(models: Sequence[Row]) -> dict[str, Style]:
    """A look for each of the largest families, in order of the alphabet; the rest share one."""
    sizes = Counter(model["family"] or OTHER for model in models)
    largest = sorted(family for family, _ in sizes.most_common(MOST_FAMILIES) if family != OTHER)
    looks = dict(zip(largest, styles(len(largest)), strict=True))
    return looks | ({OTHER: OTHER_STYLE} if len(looks) < len(sizes) else {})


def _area(parameters: float | None, most: float) -> float:
    return max(LARGEST * np.sqrt(parameters / most), SMALLEST) if parameters else USUAL


def _most_parameters(models: Sequence[Row]) -> float:
    return max((model["parameters"] or 0 for model in models), default=0)


def _is_significant(model: Row) -> bool:
    return model["p_value"] is not None and model["p_value"] < LEVEL


def _draw(ax: Axes, models: Sequence[Row], looks: dict[str, Style], most: float) -> None:
    ax.margins(MARGIN)
    ax.axhline(0, **REFERENCE)
    tested = any(model["p_value"] is not None for model in models)
    for model in sorted(models, key=lambda model: -(model["parameters"] or 0)):  # the small ones on top
        look = looks.get(model["family"] or OTHER, OTHER_STYLE)
        filled = _is_significant(model) or not tested
        if len(models) <= MOST_INTERVALS and None not in (model["bias_low"], model["bias_high"]):
            ax.vlines(model["accuracy"], model["bias_low"], model["bias_high"], color=look["color"], **INTERVAL)
        ax.scatter(
            model["accuracy"],
            model["bias_index"],
            s=_area(model["parameters"], most),
            marker=look["marker"],
            facecolor=look["color"] if filled else "white",
            edgecolor="white" if filled else look["color"],
            linewidth=0.6 if filled else 1.2,
            zorder=3,
        )


def _label(ax: Axes, title: Sequence[str]) -> None:
    uncluttered(ax)
    ax.set_title("\n".join(title), fontsize="medium")
    ax.set(xlabel="Accuracy", ylabel="Bias index: accuracy of high − low\nproximity at equal confidence")


def _verdict(models: Sequence[Row]) -> str:
    tested = sum(model["p_value"] is not None for model in models)
    return f"{sum(map(_is_significant, models))} of {tested} models: p < {LEVEL}" if tested else ""


def _share_limits(panels: Sequence[Axes]) -> None:
    for axis in ("x", "y"):
        limits = np.array([getattr(panel, f"get_{axis}lim")() for panel in panels])
        for panel in panels:
            getattr(panel, f"set_{axis}lim")(limits.min(), limits.max())


def _legend(models: Sequence[Row], looks: dict[str, Style], most: float) -> dict[str, Line2D]:
    families = {family: _marker(**look | {"linestyle": "none"}) for family, look in looks.items()}
    significance = {}
    if any(model["p_value"] is not None for model in models):
        significance = {
            f"Filled: p < {LEVEL}": _marker(**KEY),
            "Hollow: not significant": _marker(**KEY, markerfacecolor="white"),
        }
    sizes = {
        f"{_in_short(size)} parameters": _marker(**KEY, markersize=np.sqrt(_area(size, most)))
        for size in _round_sizes(models)
    }
    no_bias = {"No proximity bias": _marker(**REFERENCE)}
    return ({} if list(families) == [OTHER] else families) | no_bias | significance | sizes


def _marker(**style: Any) -> Line2D:
    return Line2D([], [], **style)


def _round_sizes(models: Sequence[Row]) -> list[float]:
    """Smallest, middle and largest, to one digit, from where markers differ in area; none where all are alike."""
    known = [model["parameters"] for model in models if model["parameters"]]
    if not known or max(known) == min(known):
        return []
    smallest = max(min(known), max(known) * (SMALLEST / LARGEST) ** 2)
    return list(dict.fromkeys(float(f"{size:.0e}") for size in np.geomspace(smallest, max(known), 3)))


def _in_short(size: float) -> str:
    for unit, letter in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if size >= unit:
            return f"{size / unit:g}{letter}"
    return f"{size:g}"
