"""How much a choice matters: errors of calibrators corrected by proximity, for each value of one setting.

A panel an error, a line a calibrator; the thin dashed line of the same colour is its base alone, flat where that
knows nothing of the setting. A flat line says that the choice does not matter, one above its base that the correction
does harm.
"""

from collections.abc import Sequence
from typing import Self

import numpy as np
from matplotlib.axes import Axes

from proxcal._validation import Floats
from proxcal.plots._errors import SHORT
from proxcal.plots._records import Results, Row, rows
from proxcal.plots._style import Style, legend_entries, legend_of_figure, panels, styles, uncluttered

PANEL_HEIGHT, WIDTH = 2.3, 8.0  # inches
N_COLUMNS = 2
ALONE: Style = {"linewidth": 0.9, "linestyle": (0, (4, 3)), "alpha": 0.8}


class SensitivityDisplay:
    """Errors by the value of a setting and by calibrator.

    After `plot`, `axes_` holds a panel an error, and `figure_` is their figure.
    """

    def __init__(self, records: Sequence[Row], setting: str, *, name: str | None = None) -> None:
        self.records = records
        self.setting = setting
        self.name = name

    @classmethod
    def from_results(cls, results: Results, setting: str, *, name: str | None = None) -> Self:
        """Draw records or columns `variant`, the setting's value, `method`, `metric`, `base` and `ours`; `setting`
        labels the axis of the values, which are shown in the order they come in, one as far from the next as
        another."""
        found = rows(results, ("variant", "method", "metric"), ("base", "ours"))
        return cls(found, setting, name=name).plot()

    def plot(self) -> Self:
        variants, methods, metrics = (
            list(dict.fromkeys(record[name] for record in self.records)) for name in ("variant", "method", "metric")
        )
        n_rows = -(-len(metrics) // N_COLUMNS)
        figure, axes = panels(len(metrics), width=WIDTH, height=1 + PANEL_HEIGHT * n_rows, n_columns=N_COLUMNS)
        looks = dict(zip(methods, styles(len(methods)), strict=True))
        for panel, metric in zip(axes, metrics, strict=True):
            for method, look in looks.items():
                own = [record for record in self.records if (record["method"], record["metric"]) == (method, metric)]
                _draw(panel, own, variants, method, look)
            panel.set_title(SHORT.get(metric, metric), fontsize="medium")
            panel.set_xticks(range(len(variants)), variants, fontsize="small")
        for panel in axes[-N_COLUMNS:]:
            panel.set_xlabel(self.setting)
        uncluttered(*axes)
        self.axes_, self.figure_ = axes, figure
        figure.suptitle(self.name or "", fontsize="medium")
        legend_of_figure(figure, legend_entries(axes[0]), "Solid: with proximity; dashed: the base alone")
        return self


def _draw(ax: Axes, records: Sequence[Row], variants: Sequence[str], method: str, look: Style) -> None:
    base, ours = (_values(records, name, variants) for name in ("base", "ours"))
    place = np.arange(len(variants))
    ax.plot(place, base, color=look["color"], **ALONE)
    ax.plot(place, ours, **look | {"linestyle": "-"}, markersize=4, linewidth=1.4, label=method)


def _values(records: Sequence[Row], name: str, variants: Sequence[str]) -> Floats:
    """A value a variant, NaN where there is none."""
    found = {record["variant"]: record[name] for record in records}
    return np.array([found.get(variant, np.nan) for variant in variants])
