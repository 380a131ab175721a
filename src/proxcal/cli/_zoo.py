"""What a sweep says, laid out for 80 columns: errors by calibrator, how many models are biased, and which families."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from proxcal.cli._comparison import HEADERS, name_of_base
from proxcal.cli._terminal import fitting, table
from proxcal.experiments import CalibratorSummary, Contrast, FamilySummary, Sweep
from proxcal.experiments.zoo import OURS


def print_zoo(console: Console, sweep: Sweep) -> None:
    summaries = sweep.calibrators
    console.print(fitting(console, lambda decimals, gap: _errors(summaries, decimals, gap)))
    console.print(
        "\nMeans over models, times 100; smaller is better, but for accuracy. identity: the models as they came; +ours:"
        " the calibrator above it, corrected by proximity. ECE, ACE, MCE: |accuracy - confidence| over bins of"
        " confidence; PIECE: over bins of confidence and proximity; -floor: less what chance alone would show.\n"
    )
    console.print(_biased(summaries))
    console.print(
        "\nBias index: accuracy of samples that have many like them in the data, less that of samples of the same"
        " confidence that have few; 0 is without bias. Beside it the models in which it is more than chance (p < 0.05):"
        " by themselves, and allowing for so many tests (Bonferroni; Benjamini-Hochberg).\n"
    )
    families = sweep.families
    if families:
        console.print(_families(families, sweep.contrast()))
        console.print(
            "\nMean bias index by family, with 95 % intervals over its models; of one model there is none. A difference"
            " (Welch's t-test) needs two models on either side."
        )


def print_left_out(console: Console, sweep: Sweep) -> None:
    files = dict.fromkeys(row.file for row in sweep.errors)
    if files:
        console.print(f"Left out, see column error: {', '.join(files)}")
    noted = sum(record.notes is not None for record in sweep.records)
    if noted:
        console.print(f"Warnings on {noted} of {len(sweep.records)} results: see column notes.")


def _errors(summaries: Sequence[CalibratorSummary], decimals: int, gap: int) -> Table:
    shown = table("Calibrator", *HEADERS.values(), gap=gap)
    for summary in summaries:
        shown.add_row(
            _name(summary.calibrator), *(f"{100 * summary.errors[metric]:.{decimals}f}" for metric in HEADERS)
        )
    return shown


def _biased(summaries: Sequence[CalibratorSummary]) -> Table:
    shown = table("Calibrator", "models", "bias\nindex", "p < 0.05", "Bonferroni", "Benjamini-\nHochberg")
    for summary in summaries:
        counts = (summary.n_significant, summary.n_bonferroni, summary.n_benjamini_hochberg)
        index = "unknown" if summary.bias_index is None else f"{summary.bias_index:.3f}"
        shares = [f"{count} ({count / summary.n_tested:.0%})" if summary.n_tested else "" for count in counts]
        shown.add_row(_name(summary.calibrator), str(summary.n_tested), index, *shares)
    return shown


def _families(families: Sequence[FamilySummary], contrasts: Sequence[Contrast]) -> Table:
    shown = table("Calibrator", "family", "models", "bias\nindex", "95 % interval", "p")
    shown.columns[1].justify = "left"
    for calibrator in dict.fromkeys(summary.calibrator for summary in families):
        name = _name(calibrator)
        for family in (summary for summary in families if summary.calibrator == calibrator):
            interval = _interval(family.low, family.high)
            shown.add_row(name, family.family, str(family.n_models), f"{family.bias_index:.3f}", interval, "")
            name = ""
        for found in (contrast for contrast in contrasts if contrast.calibrator == calibrator):
            interval = _interval(found.low, found.high)
            shown.add_row(
                "", " - ".join(found.families), "", f"{found.difference:.3f}", interval, f"{found.p_value:.2g}"
            )
    return shown


def _name(calibrator: str) -> str:
    return f"  {OURS}" if calibrator.endswith(OURS) else name_of_base(calibrator)


def _interval(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{low:.3f} to {high:.3f}"
