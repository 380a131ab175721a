"""The paper's own figures, every cell as it is printed, so that each measured one has its counterpart beside it.

They lie beside this module, a CSV file a table: paper/NAME.csv. Numbers stay the texts they are in print, as their
decimals say how exact they are meant to be.
"""

import csv
from collections.abc import Iterator
from importlib.resources import files
from typing import NamedTuple

from proxcal.experiments.evaluation import Method as Side


class PrintedPair(NamedTuple):
    """A base calibrator and the same with the paper's method (times 100), which of them is in bold, and whether a star
    marks it as significantly better."""

    base: str
    ours: str
    better: Side | None
    significant: bool


def printed_pairs(table: str) -> dict[tuple[str | None, str, str], PrintedPair]:
    """By network (None where the table is about one), method and metric, in the order of print."""
    return {
        (row.get("model"), row["method"], row["metric"]): PrintedPair(
            row["base"], row["ours"], _side(row["better"]), row["significant"] == "yes"
        )
        for row in _rows(table)
    }


def printed_times() -> dict[str, str]:
    """Milliseconds an image by method, the network's among them in all but the neighbour search, NS."""
    return {row["method"]: row["ms"] for row in _rows("inference-time")}


def printed_gaps() -> dict[str, str]:
    """Training less held-out accuracy, in points, of the group of lowest and of highest proximity."""
    return {row["group"]: row["gap"] for row in _rows("overfit")}


def _rows(table: str) -> Iterator[dict[str, str]]:
    text = files(__package__).joinpath("paper", f"{table}.csv").read_text(encoding="utf-8")
    yield from csv.DictReader(text.splitlines())


def _side(text: str) -> Side | None:
    return "base" if text == "base" else "ours" if text == "ours" else None
