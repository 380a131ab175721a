"""What a reproduction found, laid out for 80 columns: each figure beside the paper's; and what a protocol needs."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from proxcal.cli._terminal import facts, fitting, table
from proxcal.experiments.reproduce import Protocol, Reproduction
from proxcal.experiments.reproduce.overfit import GroupRow
from proxcal.experiments.reproduce.protocols import METRICS
from proxcal.experiments.reproduce.run import PairRow
from proxcal.experiments.reproduce.timing import SEARCH, TimeRow


def print_reproduction(console: Console, found: Reproduction) -> None:
    console.print(found.protocol.title, style="bold")
    if found.deviations:
        console.print(f"NOT the paper's protocol: {'; '.join(found.deviations)}.", style="bold")
    console.print()
    _PRINTED[found.protocol.kind](console, found)
    console.print(f"\nThe paper: {found.protocol.claim}.")


def _comparison(console: Console, found: Reproduction) -> None:
    rows = _pairs(found)
    for model in dict.fromkeys(row.model for row in rows):
        if model is not None:
            console.print(f"{model}\n")
        of_model = [row for row in rows if row.model == model]
        console.print(fitting(console, partial(_pair_table, of_model)))
        console.print()
    console.print(
        "All times 100, MCE weighted by the bins' shares; beside each the paper's, rounded (in full in the CSV). +ours:"
        f" the base, corrected by proximity. ' marks the better of the two, * where p < {found.protocol.level:g}"
        f" (here a {_test(found)}), as in the paper."
    )


def _test(found: Reproduction) -> str:
    return "paired bootstrap of test samples" if found.protocol.split is None else "paired t-test over five splits"


def _pair_table(rows: Sequence[PairRow], decimals: int, gap: int) -> Table:
    headers = [header for metric in METRICS for header in (metric.upper(), "paper")]
    shown = table("Method", *headers, gap=gap)
    for method in dict.fromkeys(row.method for row in rows):
        of_method = {row.metric: row for row in rows if row.method == method}
        for name, side in ((method, "base"), ("  +ours", "ours")):
            cells = (_cells(of_method[metric], side, decimals) for metric in METRICS)
            shown.add_row(name, *(cell for pair in cells for cell in pair))
    return shown


def _cells(row: PairRow, side: str, decimals: int) -> tuple[Text, Text]:
    """The figure and the paper's, each with its mark, or a blank that keeps the digits in line."""
    value, printed = (row.base, row.paper_base) if side == "base" else (row.ours, row.paper_ours)
    here = _marked(value, row.better == side, row.significant, decimals)
    if printed is None:
        return here, Text("")
    return here, _marked(float(printed), row.paper_better == side, bool(row.paper_significant), decimals)


def _marked(value: float, better: bool, significant: bool, decimals: int) -> Text:
    mark = " " if not better else "*" if significant else "'"
    return Text(f"{value:.{decimals}f}{mark}", style="bold" if better else "")


def _shift(console: Console, found: Reproduction) -> None:
    rows = [row for row in _pairs(found) if row.metric == "piece"]
    console.print(fitting(console, partial(_reductions, rows)))
    lowered = sum(row.better == "ours" for row in rows)
    console.print(
        f"\nReduction of PIECE by ours, times 100: above 0 it is lower. It is so in {lowered} of {len(rows)}; * where"
        f" p < {found.protocol.level:g} ({_test(found)}). The paper shows bars and prints no numbers."
    )


def _reductions(rows: Sequence[PairRow], decimals: int, gap: int) -> Table:
    methods = list(dict.fromkeys(row.method for row in rows))
    shown = table("Shift", *methods, gap=gap)
    by_place = {(row.variant, row.method): row for row in rows}
    for shift in dict.fromkeys(row.variant for row in rows):
        of_shift = [by_place[shift, method] for method in methods]
        shown.add_row(
            str(shift), *(f"{row.base - row.ours:+.{decimals}f}{'*' if row.significant else ' '}" for row in of_shift)
        )
    return shown


def _sensitivity(console: Console, found: Reproduction) -> None:
    rows = _pairs(found)
    for metric in METRICS:
        of_metric = [row for row in rows if row.metric == metric]
        console.print(fitting(console, partial(_by_variant, of_metric)))
        console.print()
    console.print(
        "Times 100, with ours; base: without, by the first of them. ' marks the lowest of a column. The paper shows"
        f" curves and prints no numbers. {found.protocol.note}"
    )


def _by_variant(rows: Sequence[PairRow], decimals: int, gap: int) -> Table:
    methods = list(dict.fromkeys(row.method for row in rows))
    shown = table(rows[0].metric.upper(), *methods, gap=gap)
    by_place = {(row.variant, row.method): row for row in rows}
    variants = list(dict.fromkeys(row.variant for row in rows))
    lowest = {method: min(by_place[variant, method].ours for variant in variants) for method in methods}
    shown.add_row("base", *(f"{by_place[variants[0], method].base:.{decimals}f} " for method in methods))
    for variant in variants:
        ours = {method: by_place[variant, method].ours for method in methods}
        shown.add_row(
            str(variant),
            *(_marked(value, value == lowest[method], False, decimals) for method, value in ours.items()),
        )
    return shown


def _times(console: Console, found: Reproduction) -> None:
    rows = [row for row in found.rows if isinstance(row, TimeRow)]
    shown = table("Method", "own ms", "deviation", "added %", "paper:\nms", "paper:\nadded %")
    for row in rows:
        added = [f"{value:+.2f}" if value is not None else "" for value in (row.added_percent, row.paper_added_percent)]
        shown.add_row(row.method, f"{row.own_ms:.4f}", f"{row.deviation:.4f}", added[0], row.paper_ms or "", added[1])
    console.print(shown)
    console.print(
        f"\nA sample's milliseconds, mean of ten runs over all test samples; {SEARCH}: the neighbour search, which is"
        " in BIN* (Bin-Mean-Shift), DEN* (Density-Ratio) and PTSK too. The paper's figures hold the network's time;"
        f" added %: what exceeds it with plain confidences (Conf). {found.protocol.note}"
    )


def _overfitting(console: Console, found: Reproduction) -> None:
    shown = table(
        "Proximity", "train\nsamples", "held-out\nsamples", "train", "held-out", "gap", "95 % interval", "paper:\ngap"
    )
    for row in (row for row in found.rows if isinstance(row, GroupRow)):
        name = {1: "1 lowest", len(found.rows): f"{row.group} highest"}.get(row.group, str(row.group))
        accuracies = (f"{value:.1f}" for value in (row.train_accuracy, row.held_out_accuracy, row.gap))
        interval = f"{row.gap_low:.1f} to {row.gap_high:.1f}"
        shown.add_row(name, str(row.n_train), str(row.n_held_out), *accuracies, interval, row.paper_gap or "")
    console.print(shown)
    console.print("\nAccuracies in percent, gaps in points.")


def _pairs(found: Reproduction) -> list[PairRow]:
    return [row for row in found.rows if isinstance(row, PairRow)]


_PRINTED: Mapping[str, Callable[[Console, Reproduction], None]] = {
    "comparison": _comparison,
    "shift": _shift,
    "neighbors": _sensitivity,
    "distance": _sensitivity,
    "time": _times,
    "overfit": _overfitting,
}


def print_protocols(console: Console, protocols: Sequence[Protocol]) -> None:
    for protocol in protocols:
        print_protocol(console, protocol)
        console.print()
    console.print(
        "Numbers count the paper's tables of calibration errors. No file at hand? --scaled takes smaller ones. Seeds"
        " 2020 to 2024 draw the splits; K = 10.",
    )


def print_protocol(console: Console, protocol: Protocol) -> None:
    number = "" if protocol.number is None else f" (table {protocol.number})"
    console.print(f"{protocol.name}{number}: {protocol.title}", style="bold")
    split = None
    if protocol.split is not None:
        seeds = "by the first seed" if protocol.kind == "time" else "anew for each of five seeds"
        split = f"{protocol.split[0]} calibrate, {protocol.split[1]} test, drawn {seeds}"
    console.print(
        facts(
            methods=" ".join(protocol.methods) if protocol.kind != "overfit" else None,
            splits=split,
            extras=", ".join(protocol.extras) or None,
            paper=protocol.claim,
            note=protocol.note or None,
        )
    )
    for need in protocol.needs:
        several = ", one file or more" if need.several else ""
        what = f"{need.role.upper()}: {need.n_samples} samples or more{several}: {need.what}"
        console.print(Padding(what, (0, 0, 0, 2)))
        console.print(f"    {need.command}", soft_wrap=True)
