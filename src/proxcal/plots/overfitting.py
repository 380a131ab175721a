"""Training against held-out accuracy by proximity: how much of what a model knows it knows by heart.

Two points a group with Wilson intervals, and the gap between them. A gap that widens towards low proximity
is one reason for overconfidence there.
"""

from typing import Self

import numpy as np
from matplotlib.axes import Axes

from proxcal.bias.overfitting import OverfittingByProximity
from proxcal.plots._style import (
    STYLES,
    Style,
    axes_or_new,
    draw_accuracy,
    draw_accuracy_of_few,
    label_groups,
    legend_below,
    uncluttered,
)

TRAIN, HELD_OUT = STYLES[:2]
DODGE = 0.06  # groups, between the two sets
GAP: Style = {"color": "0.75", "linewidth": 3, "zorder": 0}


class OverfittingDisplay:
    """Accuracy on training and on held-out samples, from the group of lowest proximity to that of highest.

    After `plot`, `ax_` holds it all, and `figure_` is its figure.
    """

    def __init__(self, result: OverfittingByProximity, *, name: str | None = None) -> None:
        self.result = result
        self.name = name

    @classmethod
    def from_result(cls, result: OverfittingByProximity, *, ax: Axes | None = None, name: str | None = None) -> Self:
        """Draw what `overfitting_by_proximity` found."""
        return cls(result, name=name).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        ax = axes_or_new(ax, (6, 4.6))
        found = self.result
        position = np.arange(1.0, len(found.count) + 1)
        for draw in (draw_accuracy, draw_accuracy_of_few):
            draw(ax, position - DODGE, found.train_accuracy, found.train_count, **TRAIN, label="Training samples")
            draw(ax, position + DODGE, found.accuracy, found.count, **HELD_OUT, label="Held-out samples")
        ax.vlines(position, found.accuracy, found.train_accuracy, **GAP, label=_gap_in_words(found))
        uncluttered(ax)
        ax.set(title=self.name or "", ylabel="Accuracy", xlabel="Proximity group, same bounds for both")
        label_groups(ax, len(position))
        legend_below(ax, lines=3.2)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _gap_in_words(found: OverfittingByProximity) -> str:
    return f"Gap: {found.gap[0]:.3f} in the lowest group, {found.gap[-1]:.3f} in the highest"
