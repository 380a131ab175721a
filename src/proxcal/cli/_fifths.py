"""Accuracy, and several calibrators' confidence, by fifths of proximity: the table in which proximity bias is seen."""

from collections.abc import Mapping, Sequence

from rich.console import Console

from proxcal.cli._terminal import table

FIFTHS = ("lowest fifth", "2nd", "3rd", "4th", "highest fifth")
Gaps = Sequence[tuple[float, float]]  # confidence and accuracy - confidence, a fifth each


def print_fifths(console: Console, accuracy: Sequence[float], calibrators: Mapping[str, Gaps], legend: str) -> None:
    shown = table("Proximity", "accuracy", *(h for name in calibrators for h in (f"{name}\nconfidence", "gap")))
    for name, right, *by_calibrator in zip(FIFTHS, accuracy, *calibrators.values(), strict=True):
        values = right, *(value for pair in by_calibrator for value in pair)
        shown.add_row(name, *(f"{100 * value:.1f}" for value in values))
    console.print(shown)
    console.print(f"\nIn percent; gap = accuracy - confidence, below 0 where confidence is too high. {legend}")
