"""Errors by calibrator in rows down the page: what the pictures of many models and of many shifts have in common.

A base and the same base corrected by proximity ("temperature" and "temperature+ours") are a pair: one colour, hollow
before and filled after.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke

from proxcal._validation import Floats, check_choice
from proxcal.plots._records import Results, Row, rows
from proxcal.plots._style import LABEL_WIDTH, NOISE_FLOOR, Style, legend_below, styles, uncluttered

METRICS = {
    "ece": "Expected calibration error (ECE)",
    "ace": "Calibration error over\nequal-count bins (ACE)",
    "mce": "Largest calibration error (MCE)",
    "piece": "Proximity-informed\ncalibration error (PIECE)",
    "piece_minus_floor": "PIECE − noise floor",
    "nll": "Log loss",
    "brier": "Brier score",
    "multiclass_nll": "Log loss over all classes",
    "smooth_ece": "Smooth calibration error",
    "classwise_ece": "Class-wise calibration error",
}
SHORT = {"ece": "ECE", "ace": "ACE", "mce": "MCE", "piece": "PIECE"}
FLOOR: Style = {
    "color": "black",
    "marker": "|",
    "linestyle": "none",
    "markersize": 8,
    "markeredgewidth": 1.2,
    "path_effects": [withStroke(linewidth=3, foreground="white")],  # seen on a bar too
    "label": NOISE_FLOOR,
}


@dataclass(frozen=True)
class Method:
    """A calibrator, its look, the pair it belongs to (by number), and whether it is that pair's base or corrected."""

    name: str
    style: Style
    pair: int
    is_base: bool
    is_corrected: bool


def error_rows(results: Results, texts: Sequence[str], metric: str, numbers: Sequence[str] = ()) -> list[Row]:
    """Records with `calibrator`, the metric as `value`, and its noise floor as `floor`, where that is known."""
    check_choice("metric", metric, tuple(METRICS))
    floor, excess = f"{metric}_floor", f"{metric}_minus_floor"
    records = rows(results, (*texts, "calibrator"), (metric, *numbers, floor, excess), ("severity", floor, excess))
    for record in records:
        record["value"] = record[metric]
        if record[floor] is None and record[excess] is not None:
            record[floor] = record[metric] - record[excess]
        record["floor"] = record[floor]
    return records


def methods(records: Sequence[Row]) -> list[Method]:
    """The calibrators in order of appearance, a colour a pair."""
    names = list(dict.fromkeys(record["calibrator"] for record in records))
    bases = {name: _base(name, names) for name in names}
    pairs = list(dict.fromkeys(bases.values()))
    looks = dict(zip(pairs, styles(len(pairs)), strict=True))
    paired = {base for name, base in bases.items() if name != base}
    return [Method(name, looks[base], pairs.index(base), name in paired, name != base) for name, base in bases.items()]


def _base(name: str, names: Sequence[str]) -> str:
    """The longest name that this one continues with a plus, or its own."""
    continued = [base for base in names if name.startswith(base) and name[len(base) :].lstrip().startswith("+")]
    return max(continued, key=len, default=name)


def means(records: Sequence[Row], what: str, by: Sequence[str]) -> dict[tuple[Any, ...], float]:
    """Mean of what is known (over seeds, say) of the records that agree in these names."""
    values: dict[tuple[Any, ...], list[float]] = {}
    for record in records:
        if record[what] is not None:
            values.setdefault(tuple(record[name] for name in by), []).append(record[what])
    return {key: float(np.mean(found)) for key, found in values.items()}


def pairs(calibrators: Sequence[Method]) -> list[tuple[Method, Method]]:
    """Each corrected calibrator with its base before it."""
    corrected = [method for method in calibrators if method.is_corrected]
    return [(base, method) for method in corrected for base in calibrators if base.is_base and base.pair == method.pair]


def draw_floors(ax: Axes, floors: Floats, position: Floats) -> None:
    if np.isfinite(floors).any():
        ax.plot(floors, position, **FLOOR)


def label_error(ax: Axes, xlabel: str, name: str | None, label_width: float = LABEL_WIDTH) -> None:
    uncluttered(ax)
    ax.set(xlabel=xlabel, title=name or "")
    ax.grid(axis="x", color="0.9", linewidth=0.8)
    ax.set_axisbelow(True)
    legend_below(ax, lines=2 + xlabel.count("\n"), label_width=label_width)
