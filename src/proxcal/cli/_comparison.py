"""The paper's table, laid out for 80 columns: two rows a base calibrator, a column a metric."""

from collections import Counter
from collections.abc import Iterable

from rich.console import Console
from rich.table import Table
from rich.text import Text

from proxcal.cli._accuracy_change import accuracy_changes
from proxcal.cli._terminal import fitting, table
from proxcal.experiments import Comparison, Evaluation
from proxcal.experiments.evaluation import Choice

LONGEST_NAME = 14
HEADERS = {
    "ece": "ECE",
    "ace": "ACE",
    "mce": "MCE",
    "piece": "PIECE",
    "piece_minus_floor": "PIECE\n-floor",
    "nll": "NLL",
    "brier": "Brier",
    "accuracy": "Accu-\nracy",
    "multiclass_nll": "NLL of\nrows",
}


def print_comparison(console: Console, evaluation: Evaluation, file: str | None) -> None:
    console.print(fitting(console, lambda decimals, gap: _comparison_table(evaluation, file, decimals, gap)))


def _comparison_table(evaluation: Evaluation, file: str | None, decimals: int, gap: int) -> Table:
    shown = table("Base", *HEADERS.values(), gap=gap)
    for base in dict.fromkeys(c.base for c in evaluation.summary):
        compared = evaluation.of(file, base)
        shown.add_row(name_of_base(base), *(_value(compared[metric], "base", decimals) for metric in HEADERS))
        shown.add_row("  +ours", *(_value(compared[metric], "ours", decimals) for metric in HEADERS))
    return shown


def name_of_base(base: str) -> str:
    return base if len(base) <= LONGEST_NAME else base.replace("-", "-\n")


def print_legend(console: Console, evaluation: Evaluation) -> None:
    weighted = " MCE is weighted by the bins' shares, as in the paper." if evaluation.weighted_mce else ""
    console.print(
        "All times 100; smaller is better, but for accuracy. +ours: the base, corrected by proximity. ' marks the"
        f" better of the two, * where p < 0.1 ({evaluation.test})."
    )
    console.print(
        "ECE, ACE, MCE: |accuracy - confidence| over bins of confidence; PIECE: over bins of confidence and"
        " proximity; -floor: less what chance alone would show, so that 0 is calibrated. NLL, Brier: losses of the"
        f" confidence; NLL of rows: of all classes' probabilities.{weighted}"
    )


def print_accuracy_changes(console: Console, evaluation: Evaluation) -> None:
    for base, sentence in accuracy_changes(evaluation).items():
        console.print(f"Base {base}: predictions {sentence}.")


def print_choices(console: Console, evaluation: Evaluation) -> None:
    """How often each base, where it was chosen, and each informed calibrator was what a fit came to."""
    fits: dict[str, list[Choice]] = {}
    for choice in evaluation.informed:
        fits.setdefault(choice.base, []).append(choice)
    for base, choices in fits.items():
        if any(choice.base_chosen for choice in choices):
            console.print(f"Base, {base}: {_shares(choice.base_chosen for choice in choices)}.")
        console.print(f"Informed calibrator, {base}: {_shares(choice.informed for choice in choices)}.")


def _shares(names: Iterable[str | None]) -> str:
    counts = Counter(names)
    total = counts.total()
    return ", ".join(f"{name} {count} of {total}" if total > 1 else f"{name}" for name, count in counts.most_common())


def _value(comparison: Comparison, method: str, decimals: int) -> Text:
    """The number, and after it the mark, or a blank that keeps the digits in line."""
    value = comparison.base_value if method == "base" else comparison.ours_value
    better = comparison.better == method
    mark = " " if not better else "*" if comparison.significant else "'"
    return Text(f"{100 * value:.{decimals}f}{mark}", style="bold" if better else "")
