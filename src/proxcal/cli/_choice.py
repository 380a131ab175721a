"""Which informed calibrator was chosen, and the held-out log losses that it was chosen by."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console

from proxcal.cli._terminal import table

WHAT_EACH_USES = {
    "none": "nothing: the base alone",
    "logistic": "proximity",
    "neighborhood": "proximity, nearest labels, class",
    "density-ratio": "proximity (the paper's)",
    "bin-mean-shift": "proximity (the paper's)",
}


def print_choice(console: Console, selection: Mapping[str, Any]) -> None:
    """The choice, why, and what each candidate came to."""
    console.print(f"Correction chosen on the calibration samples: {selection['chosen']}\n({selection['reason']}).")
    losses = selection.get("log_loss")
    if losses is None:
        return
    tried = table("Correction", "what it uses", "held-out\nlog loss", "gain", "standard\nerror")
    tried.columns[1].justify = "left"
    for name, loss in losses.items():
        error = selection["standard_error_of_gain"].get(name)
        gain = ("", "") if error is None else (f"{losses['none'] - loss:.4f}", f"{error:.4f}")
        row = (name, WHAT_EACH_USES.get(name, ""), f"{loss:.4f}", *gain)
        tried.add_row(*row, style="bold" if name == selection["chosen"] else None)
    console.print()
    console.print(tried)
