"""How the commands speak: results on stdout, the rest on stderr, a line at a time, never wider than the terminal."""

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.padding import Padding
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Column, Table

from proxcal import ProxcalWarning

LONGEST_LINE = 80
ALL_SO_FAR = 3600 * 24 * 365  # seconds that the estimate of the time left looks back on


def stdout() -> Console:
    console = Console(highlight=False, markup=False, emoji=False)
    console.width = min(console.width, LONGEST_LINE)
    return console


def say(message: str) -> None:
    """One line on stderr."""
    sys.stderr.write(f"proxcal: {' '.join(message.split())}\n")


def show_warning() -> Callable[..., None]:
    """A `warnings.showwarning` under which each of the package's own warnings is one line, said once."""
    said: set[str] = set()
    otherwise = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *rest: Any, **named: Any) -> None:
        if not issubclass(category, ProxcalWarning):
            otherwise(message, category, *rest, **named)
        elif str(message) not in said:
            said.add(str(message))
            say(f"warning: {message}")

    return show


@contextmanager
def progress() -> Iterator[Callable[[int, int, str], None]]:
    """A function of (done, total, text) that moves a bar on stderr, with the time taken and an estimate of the time
    left; nothing where that is no terminal."""
    bar = Progress(
        SpinnerColumn("line"),
        TextColumn("{task.description}", markup=False, table_column=Column(max_width=28, no_wrap=True)),
        BarColumn(15),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        speed_estimate_period=ALL_SO_FAR,
        disable=not sys.stderr.isatty(),
    )
    with bar:
        task = bar.add_task("", total=None)
        yield lambda done, total, text: bar.update(task, completed=done, total=total, description=text)


def table(*headers: str, gap: int = 2) -> Table:
    """A column of names, then columns of numbers, so many spaces between them."""
    padding = (0, gap - 1, 0, 0)  # the box has one space of its own
    made = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=padding, header_style="bold")
    made.add_column(headers[0], no_wrap=True, vertical="bottom")
    for header in headers[1:]:
        made.add_column(header, justify="right", no_wrap=True, vertical="bottom")
    return made


def fitting(console: Console, made: Callable[[int, int], Table]) -> Table:
    """A table of numbers, `made` with two decimals and two spaces between columns, or as much less as it takes to
    fit."""
    unlimited = console.options.update(width=10 * console.width)
    for decimals, gap in ((2, 2), (2, 1), (1, 1), (0, 1)):
        shown = made(decimals, gap)
        if Measurement.get(console, unlimited, shown).maximum <= console.width:
            break
    return shown


def facts(**named: Any) -> Padding:
    """Name and value, a line each; those that are None left out."""
    made = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    made.add_column(style="bold", no_wrap=True)
    made.add_column(overflow="fold")
    for name, value in named.items():
        if value is not None:
            made.add_row(name.replace("_", " "), str(value))
    return Padding(made, (0, 0, 0, 2))
