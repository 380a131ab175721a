"""What all pictures share: colours, markers and lines that stay apart for the colour-blind and in grey print, points
with their intervals, a legend below where no curve runs into it, and no word with matplotlib's global state.
"""

from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import ScaledTranslation

from proxcal._validation import Bools, Floats, Ints
from proxcal.metrics.intervals import wilson_interval

Style = dict[str, Any]

# Okabe and Ito's colours that are dark enough on white, neighbours in the list far apart in lightness.
STYLES: tuple[Style, ...] = (
    {"color": "#D55E00", "marker": "v", "linestyle": "-"},
    {"color": "#0072B2", "marker": "o", "linestyle": "--"},
    {"color": "#009E73", "marker": "s", "linestyle": "-."},
    {"color": "#CC79A7", "marker": "D", "linestyle": (0, (5, 1, 1, 1, 1, 1))},
    {"color": "#56B4E9", "marker": "^", "linestyle": (0, (8, 2))},
    {"color": "#E69F00", "marker": "P", "linestyle": (0, (1, 1))},
    {"color": "#000000", "marker": "X", "linestyle": (0, (3, 1, 1, 1))},
)
REFERENCE: Style = {"color": "0.55", "linestyle": ":"}  # where a calibrated model lies
FEW = 10
FAINT = f"Faint: fewer than {FEW} samples"
NOISE_FLOOR = "Noise floor: a calibrated model"
LAST = (NOISE_FLOOR, FAINT)
FAINTNESS = 0.35
PARTS = {2: "half", 3: "third", 4: "quarter", 5: "fifth", 10: "tenth"}
MOST_TICKS = 10
LEGEND_LINE = 0.19  # inches
LABEL_WIDTH = 0.5  # inches: tick labels and label of a y axis
TEXT_HEIGHT = 18 / 72  # inches: a line of tick labels, or the axis label


def styles(n: int) -> list[Style]:
    """As many styles; where the colours have all been used, the next round has other markers and lines to them."""
    return [_style(i % len(STYLES), i // len(STYLES)) for i in range(n)]


def _style(i: int, turn: int) -> Style:
    marker, linestyle = (STYLES[(i + step * turn) % len(STYLES)] for step in (1, 2))
    return {"color": STYLES[i]["color"], "marker": marker["marker"], "linestyle": linestyle["linestyle"]}


def part(n_groups: int) -> str:
    return PARTS.get(n_groups, f"1/{n_groups}")


def axes_or_new(ax: Axes | None, figsize: tuple[float, float]) -> Axes:
    return Figure(figsize=figsize, layout="constrained").add_subplot() if ax is None else ax


def panels(n: int, *, width: float, height: float, n_columns: int) -> tuple[Figure, list[Axes]]:
    """A new figure and so many axes in it, row by row; what would fill up the last row is left out."""
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(-(-n // n_columns), min(n, n_columns), squeeze=False).ravel()
    for ax in axes[n:]:
        ax.remove()
    return figure, list(axes[:n])


def legend_of_figure(figure: Figure, entries: Mapping[str, Any], title: str = "") -> None:
    """Below all panels, in one line."""
    figure.legend(
        entries.values(),
        entries.keys(),
        loc="outside lower center",
        ncols=len(entries),
        frameon=False,
        fontsize="small",
        title=title or None,
        title_fontsize="small",
    )


def draw_accuracy(ax: Axes, x: Floats, accuracy: Floats, count: Ints, **style: Any) -> None:
    """A line through the points of enough samples, each with its Wilson interval."""
    _draw_points(ax, count >= FEW, x, accuracy, count, **style)


def draw_accuracy_of_few(ax: Axes, x: Floats, accuracy: Floats, count: Ints, **style: Any) -> None:
    """The other points, faint and off the line; those of no samples are left out."""
    few = (count > 0) & (count < FEW)
    if few.any():
        off_the_line = {"linestyle": "none", "alpha": FAINTNESS, "label": FAINT}
        _draw_points(ax, few, x, accuracy, count, **style | off_the_line)


def _draw_points(ax: Axes, shown: Bools, x: Floats, accuracy: Floats, count: Ints, **style: Any) -> None:
    interval = wilson_interval(accuracy[shown], count[shown])
    draw_intervals(ax, x[shown], accuracy[shown], *interval, **style)


def draw_intervals(ax: Axes, x: Floats, y: Floats, low: Floats, high: Floats, **style: Any) -> None:
    ax.errorbar(x, y, [y - low, high - y], **{"capsize": 2, "elinewidth": 0.9, "markersize": 5} | style)


def uncluttered(*axes: Axes) -> None:
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)


def label_groups(ax: Axes, n_groups: int) -> None:
    """An x axis of proximity groups, numbered from 1, and a y axis of probabilities that cuts no marker off."""
    step = -(-n_groups // MOST_TICKS)
    between = {place: str(place) for place in range(1 + step, n_groups - step + 1, step)}
    texts = {1: "1\nlowest", **between, n_groups: f"{n_groups}\nhighest"}
    ax.set_xticks(list(texts), list(texts.values()))
    ax.set_xlim(0.5, n_groups + 0.5)
    ax.set_ylim(max(ax.get_ylim()[0], -0.02), min(ax.get_ylim()[1], 1.02))


def legend_entries(ax: Axes) -> dict[str, Any]:
    """The handle of each label, each label once, what belongs to no calibrator last."""
    entries = dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    return {label: entries[label] for label in sorted(entries, key=LAST.__contains__)}


def legend_below(
    ax: Axes,
    entries: Mapping[str, Any] | None = None,
    *,
    lines: float = 2,
    label_width: float = LABEL_WIDTH,
    n_columns: int = 1,
) -> None:
    """The legend below as many lines of text under `ax`, tick labels and axis label among them.

    It begins under the y axis's labels, so that it fits a narrow page.
    """
    entries = legend_entries(ax) if entries is None else entries
    below = ax.transAxes + ScaledTranslation(-label_width, -lines * TEXT_HEIGHT, ax.figure.dpi_scale_trans)
    ax.legend(
        entries.values(),
        entries.keys(),
        loc="upper left",
        bbox_to_anchor=(0, 0),
        bbox_transform=below,
        borderaxespad=0,
        fontsize="small",
        frameon=False,
        ncols=n_columns,
    )
