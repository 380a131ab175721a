"""Accuracy - confidence accumulated along proximity: where the line falls, the model is overconfident. No bins.

For a calibrated model the line is a Brownian motion that ends with the standard deviation `scale`, and stays within
±2.24 scale with probability 95 % (x = 2.24 solves P(max |B| > x) = 0.05). That is the band of each line, drawn at the
height that its own confidence asks for. The legend has the p-value of Kuiper's statistic, the line's largest rise or
fall.
"""

from collections.abc import Sequence
from typing import Self

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from proxcal._validation import Ints
from proxcal.metrics.cumulative import CumulativeDifference, cumulative_difference, maximum_exceeds
from proxcal.plots._calibrators import ByName, by_calibrator
from proxcal.plots._style import LEGEND_LINE, REFERENCE, Style, axes_or_new, legend_below, styles, uncluttered

LEVEL = 0.95
BAND = brentq(lambda x: maximum_exceeds(x) - (1 - LEVEL), 1, 5)  # in units of scale
BAND_STYLE: Style = {"facecolor": "0.93", "linewidth": 0, "zorder": 0}
BAND_LABEL = f"Shaded: {LEVEL:.0%} of calibrated models stay inside".replace("%", " %")
MAX_POINTS = 1000  # a line, beside its extremes: more than there are pixels across


class CumulativeDisplay:
    """Cumulative differences in order of proximity, and the bands that calibrated models would stay in.

    After `plot`, `ax_` holds it all, and `figure_` is its figure.
    """

    def __init__(self, curves: Sequence[tuple[str, CumulativeDifference]], *, name: str | None = None) -> None:
        self.curves = curves
        self.name = name

    @classmethod
    def from_predictions(
        cls,
        confidence: ByName,
        correct: ByName,
        proximity: ArrayLike,
        *,
        ax: Axes | None = None,
        name: str | None = None,
    ) -> Self:
        """Draw one confidence, or those of several calibrators by name."""
        calibrators = by_calibrator(confidence, correct, proximity)
        curves = [(key, cumulative_difference(*samples)) for key, samples in calibrators.items()]
        return cls(curves, name=name).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        ax = axes_or_new(ax, (6, 3.8 + LEGEND_LINE * (1 + len(self.curves))))
        for draw in (_draw_line, _draw_band):
            for (key, curve), style in zip(self.curves, styles(len(self.curves)), strict=True):
                draw(ax, key, curve, {"color": style["color"], "linestyle": style["linestyle"]})
        ax.axhline(0, **REFERENCE)
        _label(ax, self.name)
        legend_below(ax, lines=3.2)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _draw_line(ax: Axes, key: str, curve: CumulativeDifference, style: Style) -> None:
    shown = _thinned(curve)
    ax.plot(curve.share[shown], curve.difference[shown], **style, linewidth=1.8, label=_in_words(key, curve))


def _draw_band(ax: Axes, _: str, curve: CumulativeDifference, style: Style) -> None:
    height = BAND * curve.scale
    ax.fill_between([0, 1], -height, height, **BAND_STYLE, label=BAND_LABEL)
    ax.hlines([-height, height], 0, 1, **style, linewidth=0.7)


def _thinned(curve: CumulativeDifference) -> Ints:
    n = len(curve.share)
    even = np.linspace(0, n - 1, min(n, MAX_POINTS)).astype(np.intp)
    return np.union1d(even, [np.argmin(curve.difference), np.argmax(curve.difference)])


def _in_words(key: str, curve: CumulativeDifference) -> str:
    p = curve.kuiper_p_value
    shown = "p < 0.001" if p < 0.001 else f"p = {p:.3f}" if p < 0.1 else f"p = {p:.2f}"
    verdict = "miscalibrated" if p < 1 - LEVEL else "no sign of error"
    return f"{f'{key}: {verdict}' if key else verdict.capitalize()} (Kuiper {shown})"


def _label(ax: Axes, name: str | None) -> None:
    uncluttered(ax)
    ax.set(title=name or "", xlim=(0, 1), ylabel="Accuracy − confidence, accumulated")
    ax.set_xticks(np.linspace(0, 1, 6), ["0 %\nlowest", "20 %", "40 %", "60 %", "80 %", "100 %\nhighest"])
    ax.set_xlabel("Share of samples, in order of proximity")
