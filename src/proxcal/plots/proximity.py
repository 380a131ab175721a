"""Accuracy and confidence against proximity: a calibrated model is as confident as it is right in every group.

Groups of equal size by proximity, evenly spaced, since proximity itself may be skewed beyond reading. Accuracy is
points with Wilson intervals, the mean confidence of each calibrator a line: above the points it is overconfident there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from proxcal._validation import Bools, Floats, check_integer
from proxcal.bias.groups import ProximityGroups, proximity_groups
from proxcal.plots._calibrators import ByName, Samples, by_calibrator
from proxcal.plots._style import (
    LEGEND_LINE,
    Style,
    axes_or_new,
    draw_accuracy,
    draw_accuracy_of_few,
    label_groups,
    legend_below,
    styles,
    uncluttered,
)

ACCURACY: Style = {"color": "black", "marker": "o", "linestyle": "none", "zorder": 3}
HOLLOW: Style = {"markerfacecolor": "white", "markersize": 4}
DODGE = 0.14  # groups between accuracies at the same place


@dataclass(frozen=True, eq=False)
class ProximityCurve:
    """One calibrator's groups by proximity, the lowest first, and which of its predictions were right."""

    name: str
    groups: ProximityGroups
    correct: Bools

    @property
    def label(self) -> str:
        return f"Mean confidence: {self.name}" if self.name else "Mean confidence"


class ProximityDisplay:
    """Accuracy, and each calibrator's mean confidence, from the samples with least data nearby to those with most.

    After `plot`, `ax_` holds it all, and `figure_` is its figure.
    """

    def __init__(self, curves: Sequence[ProximityCurve], *, name: str | None = None) -> None:
        self.curves = curves
        self.name = name

    @classmethod
    def from_predictions(
        cls,
        confidence: ByName,
        correct: ByName,
        proximity: ArrayLike,
        *,
        n_bins: int = 10,
        ax: Axes | None = None,
        name: str | None = None,
    ) -> Self:
        """Draw one confidence, or those of several calibrators by name, in `n_bins` equal-count bins by proximity."""
        n_bins = check_integer("n_bins", n_bins, at_least=2)
        calibrators = by_calibrator(confidence, correct, proximity)
        return cls([_curve(name, n_bins, samples) for name, samples in calibrators.items()], name=name).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        ax = axes_or_new(ax, (6, 3.8 + LEGEND_LINE * (1 + len(self.curves))))
        position = np.arange(1.0, len(self.curves[0].groups.count) + 1)
        for curve, style in zip(self.curves, styles(len(self.curves)), strict=True):
            ax.plot(position, curve.groups.confidence, **style | HOLLOW, label=curve.label)
        _draw_accuracies(ax, position, self.curves)
        uncluttered(ax)
        label_groups(ax, len(position))
        ax.set(title=self.name or "", ylabel="Accuracy, mean confidence")
        ax.set_xlabel(f"Proximity, in groups of {100 / len(position):.3g} % of samples")
        legend_below(ax, lines=3.2)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _curve(name: str, n_bins: int, samples: Samples) -> ProximityCurve:
    return ProximityCurve(name, proximity_groups(*samples, n_groups=n_bins), samples.correct)


def _draw_accuracies(ax: Axes, position: Floats, curves: Sequence[ProximityCurve]) -> None:
    """One for all calibrators, or one for each set of calibrators whose predictions are right on the same samples."""
    families = _alike(curves)
    own = styles(len(curves))
    for place, members in enumerate(families):
        names = ", ".join(curves[i].name for i in members)
        label = "Accuracy" if len(families) == 1 else f"Accuracy: {names}"
        style = ACCURACY if len(families) == 1 else own[members[0]] | {"linestyle": "none", "zorder": 3}
        groups = curves[members[0]].groups
        x = position + DODGE * (place - (len(families) - 1) / 2)
        for draw in (draw_accuracy, draw_accuracy_of_few):
            draw(ax, x, groups.accuracy, groups.count, **style, label=label)


def _alike(curves: Sequence[ProximityCurve]) -> list[list[int]]:
    families: dict[bytes, list[int]] = {}
    for i, curve in enumerate(curves):
        families.setdefault(curve.correct.tobytes(), []).append(i)
    return list(families.values())
