"""Where right and wrong predictions lie over confidence and proximity, and the probability of being right from both.

The first two panels are kernel densities, each of integral 1 and on one colour scale; the third is what a Density-Ratio
makes of them, left white where there is less than one sample's worth of kernel. Its contours are at the ticks of the
confidence, whose own place is dotted: where the two agree, confidence can be trusted; where a contour slants, the same
confidence means less at low proximity.

Both axes are drawn on normal scores, on which neither confidences that pile up at 1 nor proximities that span many
powers of ten crowd together; ticks are confidences, and shares of samples with less proximity.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from numpy.typing import ArrayLike
from scipy.ndimage import gaussian_filter
from scipy.special import ndtri

from proxcal._validation import Bools, Floats, check_samples
from proxcal.informed import DensityRatio
from proxcal.informed._normal_scores import NormalScores

N_CELLS = 120  # an axis
FARTHEST = 2.6  # normal scores: one sample in 200 lies beyond, to either side
PADDING = 0.25
BANDWIDTH = 1.06  # times n^(-1/6), on axes of spread 1
SHARES = (0.01, 0.1, 0.5, 0.9, 0.99)
CONFIDENCES = (0.5, 0.9, 0.99, 0.7, 0.3, 0.999, 0.8, 0.95, 0.6, 0.4, 0.2, 0.1)  # the sooner named, the more wanted
LEAST_APART = 0.75  # normal scores between ticks
EDGE = 0.02  # a contour with less than this share of the cells on one side is not worth its label
DENSITY_COLORS, PROBABILITY_COLORS = "Blues", "cividis"  # light to dark, and dark to light: both survive grey print


@dataclass(frozen=True, eq=False)
class DensityMaps:
    """On cells from `edges[0]` (confidence) by `edges[1]` (proximity), in normal scores: the densities of the right and
    of the wrong, and P(correct), NaN where there is less than one sample's worth of kernel."""

    edges: tuple[Floats, Floats]
    right: Floats
    wrong: Floats
    probability: Floats
    n_right: int
    n_wrong: int
    is_fitted: bool
    confidence_scores: NormalScores


class DensityDisplay:
    """Densities of right and of wrong predictions and the probability of being right, over confidence and proximity.

    After `plot`, `axes_` holds the three panels, `ax_` is the last, and `figure_` theirs.
    """

    def __init__(self, maps: DensityMaps, *, name: str | None = None) -> None:
        self.maps = maps
        self.name = name

    @classmethod
    def from_predictions(
        cls,
        confidence: ArrayLike,
        correct: ArrayLike,
        proximity: ArrayLike,
        *,
        density_ratio: DensityRatio | None = None,
        ax: Sequence[Axes] | None = None,
        name: str | None = None,
    ) -> Self:
        """Draw into three axes or a new figure; `density_ratio` is one that was fitted on the same scale of proximity,
        or else one is fitted here."""
        p, right, d = check_samples(confidence=confidence, correct=correct, proximity=proximity, at_least=2)
        fitted = DensityRatio().fit(p, d, right) if density_ratio is None else density_ratio
        return cls(_maps(p, right, d, fitted), name=name).plot(ax)

    def plot(self, ax: Sequence[Axes] | None = None) -> Self:
        axes = _three(ax)
        maps = self.maps
        peak = max(maps.right.max(), maps.wrong.max())
        for panel, density in zip(axes[:2], (maps.right, maps.wrong), strict=True):
            image = _show(panel, maps, density, cmap=DENSITY_COLORS, vmin=0, vmax=peak)
        _add_colorbar(axes[:2], image, "Density (each panel has integral 1)")
        _add_colorbar(axes[2:], _show_probability(axes[2], maps), "Solid: P(correct), dotted: confidence")
        right, wrong = f"{maps.n_right} right predictions", f"{maps.n_wrong} wrong predictions"
        ratio = "Probability of being right" if maps.is_fitted else "Confidence (too few for a ratio)"
        for panel, title in zip(axes, (right, wrong, ratio), strict=True):
            _label(panel, maps)
            panel.set_title("\n".join(filter(None, (self.name, title))), fontsize="medium")
        self.axes_, self.ax_, self.figure_ = axes, axes[-1], axes[-1].figure
        return self


def _three(ax: Sequence[Axes] | None) -> list[Axes]:
    if ax is None:
        return list(Figure(figsize=(10, 4.4), layout="constrained").subplots(1, 3))
    axes = list(ax)
    if len(axes) != 3:
        raise ValueError(f"ax has {len(axes)} axes; it needs three: right, wrong, and the probability of being right")
    return axes


def _maps(confidence: Floats, right: Bools, proximity: Floats, ratio: DensityRatio) -> DensityMaps:
    scores = NormalScores().fit(confidence), NormalScores().fit(proximity)
    points = scores[0].transform(confidence), scores[1].transform(proximity)
    edges = _edges(points[0]), _edges(points[1])
    nodes = np.meshgrid(*(_value(each, _middle(edge)) for each, edge in zip(scores, edges, strict=True)), indexing="ij")
    probability = ratio.predict(nodes[0].ravel(), nodes[1].ravel()).reshape(nodes[0].shape)
    everyone = np.ones_like(right)
    probability[_kernel_sums(points, everyone, edges) < 1] = np.nan
    return DensityMaps(
        edges=edges,
        right=_density(points, right, edges),
        wrong=_density(points, ~right, edges),
        probability=probability,
        n_right=int(right.sum()),
        n_wrong=int((~right).sum()),
        is_fitted=ratio.usable_,
        confidence_scores=scores[0],
    )


def _edges(points: Floats) -> Floats:
    low, high = np.clip([points.min(), points.max()], -FARTHEST, FARTHEST)
    return np.linspace(low - PADDING, high + PADDING, N_CELLS + 1)


def _middle(edges: Floats) -> Floats:
    middle: Floats = (edges[1:] + edges[:-1]) / 2
    return middle


def _value(scores: NormalScores, at: Floats) -> Floats:
    """The values that have these normal scores."""
    return np.interp(at, scores.scores_, scores.values_)


def _density(points: tuple[Floats, Floats], side: Bools, edges: tuple[Floats, Floats]) -> Floats:
    """Of integral 1 but for what lies beyond the edges; 0 where there are no samples."""
    n = max(int(side.sum()), 1)
    density: Floats = _kernel_sums(points, side, edges) / (2 * np.pi * _bandwidth(n) ** 2 * n)
    return density


def _kernel_sums(points: tuple[Floats, Floats], side: Bools, edges: tuple[Floats, Floats]) -> Floats:
    """Σ exp(-½ |x - x_j|² / h²) at the middle of each cell: samples counted by cell, then smoothed."""
    bandwidth = _bandwidth(max(int(side.sum()), 1))
    counts, *_ = np.histogram2d(points[0][side], points[1][side], bins=edges)
    steps = [edge[1] - edge[0] for edge in edges]
    smooth = gaussian_filter(counts, [bandwidth / step for step in steps], mode="constant")
    sums: Floats = smooth * 2 * np.pi * bandwidth**2 / (steps[0] * steps[1])
    return sums


def _bandwidth(n: int) -> float:
    return float(BANDWIDTH * n ** (-1 / 6))


def _show(ax: Axes, maps: DensityMaps, values: Floats, **colors: Any) -> Any:
    x, y = maps.edges
    return ax.imshow(values.T, origin="lower", aspect="auto", extent=(x[0], x[-1], y[0], y[-1]), **colors)


def _show_probability(ax: Axes, maps: DensityMaps) -> Any:
    image = _show(ax, maps, maps.probability, cmap=PROBABILITY_COLORS, vmin=0, vmax=1)
    ticks = _confidence_ticks(maps)
    ax.vlines(list(ticks.values()), *maps.edges[1][[0, -1]], color="black", linewidth=0.8, linestyle=":")
    low, high = np.nanquantile(maps.probability, (EDGE, 1 - EDGE))
    levels = sorted(level for level in ticks if low < level < high)
    if levels:
        x, y = map(_middle, maps.edges)
        lines = ax.contour(x, y, maps.probability.T, levels, colors="black", linewidths=1.1)
        for text in ax.clabel(lines, fmt="%g", fontsize="small"):
            text.set_path_effects([withStroke(linewidth=2, foreground="white")])
    return image


def _add_colorbar(axes: Sequence[Axes], image: Any, label: str) -> None:
    """Below panels that stand abreast, at the right of a column of them."""
    grid_cell = axes[0].get_subplotspec()
    is_column = grid_cell is not None and grid_cell.get_gridspec().ncols == 1
    location = "right" if is_column else "bottom"
    bar = axes[0].figure.colorbar(image, ax=list(axes), location=location, aspect=25 * len(axes))
    bar.set_label(label, fontsize="small")


def _label(ax: Axes, maps: DensityMaps) -> None:
    x, y = maps.edges
    confidences = _confidence_ticks(maps)
    ax.set_xticks(list(confidences.values()), [f"{value:g}" for value in confidences])
    shares = [share for share in SHARES if y[0] <= ndtri(share) <= y[-1]]
    ax.set_yticks(ndtri(shares), [f"{share:.0%}".replace("%", " %") for share in shares])
    ax.set(xlabel="Confidence", ylabel="Share with less proximity", xlim=x[[0, -1]], ylim=y[[0, -1]])


def _confidence_ticks(maps: DensityMaps) -> dict[float, float]:
    """Of the confidences seen, some that do not crowd, and where they lie."""
    scores, (low, high) = maps.confidence_scores, maps.edges[0][[0, -1]]
    kept: dict[float, float] = {}
    for value in CONFIDENCES:
        at = float(scores.transform(np.array([value]))[0])
        is_seen = scores.values_[0] <= value <= scores.values_[-1] and low <= at <= high
        if is_seen and all(abs(at - other) >= LEAST_APART for other in kept.values()):
            kept[value] = at
    return kept
