"""A calibration error of many models, by calibrator: which one is lowest, and is it so for every model?

Models down the page, the most accurate on top; a marker for each calibrator, a line from each base to the same base
corrected by proximity, and a tick where a calibrated model would be, the noise floor, if it is known.
"""

from collections.abc import Sequence
from typing import Self

import numpy as np
from matplotlib.axes import Axes

from proxcal._validation import Floats
from proxcal.plots._errors import METRICS, Method, draw_floors, error_rows, label_error, means, methods, pairs
from proxcal.plots._records import Results, Row
from proxcal.plots._style import LABEL_WIDTH, LEGEND_LINE, Style, axes_or_new

MOST_NAMES = 40  # models whose names find room
ROW_HEIGHT, PAIR_HEIGHT = 0.34, 0.14  # inches
LONGEST_NAME = 30  # characters
CHARACTER, MOST_LABEL_WIDTH = 0.055, 1.6  # inches: of the small letters, and of labels with a legend below them
LEAST_HEIGHT, MOST_HEIGHT = 2.2, 9.0
LINE: Style = {"linewidth": 1.0, "alpha": 0.7}
THIN: Style = {"linewidth": 0.5, "alpha": 0.3}
SPREAD = 0.8  # of a row, for its pairs


class ErrorByModelDisplay:
    """Calibration error by model and calibrator.

    After `plot`, `ax_` holds it all, and `figure_` is its figure.
    """

    def __init__(self, records: Sequence[Row], metric: str, *, name: str | None = None) -> None:
        self.records = records
        self.metric = metric
        self.name = name

    @classmethod
    def from_results(
        cls, results: Results, metric: str = "piece", *, ax: Axes | None = None, name: str | None = None
    ) -> Self:
        """Draw records or columns `model`, `accuracy`, `calibrator`, the metric under its name ("piece", "ece", ...)
        and, where known, its noise floor, as "piece_floor" or through "piece_minus_floor". Of several records with the
        same model and calibrator (seeds) the mean is drawn."""
        return cls(error_rows(results, ("model",), metric, ("accuracy",)), metric, name=name).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        accuracy = {model: value for (model,), value in means(self.records, "accuracy", ["model"]).items()}
        models = sorted(accuracy, key=lambda model: accuracy[model])
        calibrators = methods(self.records)
        ax = axes_or_new(ax, (6, _height(len(models), calibrators)))
        _draw(ax, self.records, models, calibrators)
        labels = _label_models(ax, models, accuracy)
        label_width = LABEL_WIDTH + CHARACTER * max(map(len, labels))
        label_error(ax, METRICS[self.metric], self.name, min(label_width, MOST_LABEL_WIDTH))
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _height(n_models: int, calibrators: Sequence[Method]) -> float:
    """Inches that the rows take, and below them the legend, a line a calibrator and one for the noise floor."""
    row = max(ROW_HEIGHT, PAIR_HEIGHT * (1 + max(method.pair for method in calibrators)))
    rows = float(np.clip(1 + row * (n_models + 0.4), LEAST_HEIGHT, MOST_HEIGHT))
    return rows + LEGEND_LINE * (1 + len(calibrators))


def _draw(ax: Axes, records: Sequence[Row], models: Sequence[str], calibrators: Sequence[Method]) -> None:
    many = len(models) > MOST_NAMES
    for base, corrected in pairs(calibrators):
        before, after = (_values(records, "value", models, method) for method in (base, corrected))
        line = (THIN if many else LINE) | {"color": base.style["color"]}
        ax.hlines(_rows(models, base, calibrators), before, after, **line)
    for method in calibrators:
        values, position = _values(records, "value", models, method), _rows(models, method, calibrators)
        look = method.style | {"linestyle": "none", "markersize": 3 if many else 6}
        if method.is_base:
            look["markerfacecolor"] = "white"
        ax.plot(values, position, **look, label=f"{method.name}: mean {np.nanmean(values):.4f}")
    for method in calibrators:
        draw_floors(ax, _values(records, "floor", models, method), _rows(models, method, calibrators))


def _values(records: Sequence[Row], what: str, models: Sequence[str], method: Method) -> Floats:
    """A value a model, NaN where there is none."""
    found = means([record for record in records if record["calibrator"] == method.name], what, ["model"])
    return np.array([found.get((model,), np.nan) for model in models])


def _rows(models: Sequence[str], method: Method, calibrators: Sequence[Method]) -> Floats:
    """The models' rows, moved so that pairs of calibrators lie above each other, the first on top."""
    n_pairs = 1 + max(each.pair for each in calibrators)
    middle = (n_pairs - 1) / 2
    return np.arange(float(len(models))) + SPREAD * (middle - method.pair) / n_pairs


def _label_models(ax: Axes, models: Sequence[str], accuracy: dict[str, float]) -> list[str]:
    ax.set_ylim(-0.7, len(models) - 0.3)
    if len(models) <= MOST_NAMES:
        rows = np.arange(len(models))
        labels = [f"{_in_short(model)} ({accuracy[model]:.3f})" for model in models]
        ax.set_ylabel("Model (accuracy)")
    else:
        rows = np.linspace(0, len(models) - 1, 6).round().astype(np.intp)
        labels = [f"{accuracy[models[int(row)]]:.3f}" for row in rows]
        ax.set_ylabel(f"Accuracy of {len(models)} models, one a row")
    ax.set_yticks(rows, labels, fontsize="small")
    return labels


def _in_short(name: str) -> str:
    """Long names without their middle: how they begin says most, and how they end tells them apart."""
    if len(name) <= LONGEST_NAME:
        return name
    n_last = LONGEST_NAME // 3
    return f"{name[: LONGEST_NAME - n_last - 1]}…{name[-n_last:]}"
