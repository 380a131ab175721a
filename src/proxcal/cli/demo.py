"""`proxcal demo`: the whole effect on real data that comes with the package, in a few seconds."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from proxcal._files import atomic_write, check_writable
from proxcal.bias.groups import ProximityGroups, proximity_groups
from proxcal.cli import _options as options
from proxcal.cli._choice import print_choice
from proxcal.cli._comparison import print_comparison, print_legend
from proxcal.cli._fifths import print_fifths
from proxcal.cli._terminal import progress, stdout
from proxcal.datasets import load_demo
from proxcal.experiments import Evaluation, evaluate

PICTURE = Path("proxcal-demo.png")
SEED = 2020  # the first of evaluate's

WHAT_THIS_IS = """\
A small network learned to name clothes from photographs: 2000 of the commonest kind, 40 of the rarest. With each \
answer it gives a confidence, the probability that it is right. The usual remedy for a network that is too sure, \
temperature scaling, makes confidence right on average. Yet it may stay too high for photographs that have little like \
them in the data (low proximity), and too low for those that have much: that is proximity bias. proxcal measures it, \
and corrects it from what is known of a photograph's nearest neighbours. No answer of the network changes."""

LEGEND = "identity: the network's own confidence; temperature: after temperature scaling; +ours: with proximity."
NEXT = "On your own predictions (each has --help):\nproxcal evaluate, proxcal audit, proxcal fit, proxcal apply."


def demo(
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The picture: .png, .svg or .pdf.", show_default=str(PICTURE))
    ] = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Show proximity bias, and its cure, on the bundled real data."""
    picture, kept = _picture(output, force)
    calibration, test = load_demo().split(0.5, random_state=SEED)
    with progress() as move:
        evaluation = evaluate(calibration, test=test, progress=move)
    fifths = _fifths(evaluation)
    if as_json:
        gaps = {
            name: {column: getattr(group, column).tolist() for column in ("accuracy", "confidence", "gap")}
            for name, group in fifths.items()
        }
        typer.echo(json.dumps(evaluation.to_dict() | {"fifths": gaps, "picture": str(picture)}, indent=1))
    else:
        _print(stdout(), evaluation, fifths, len(calibration), len(test))
    if not kept:
        _draw(evaluation, picture, force)
    if not as_json:
        kept_note = "\n(It was there before and was kept; --force draws it anew.)" if kept else ""
        stdout().print(f"Picture: {picture.resolve()}{kept_note}\n\n{NEXT}", soft_wrap=True)


def _picture(output: Path | None, force: bool) -> tuple[Path, bool]:
    """Where the picture goes, and whether one is there to be kept: only where nobody asked for this very file."""
    path = PICTURE if output is None else output
    if path.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise ValueError(f"--output has the suffix {path.suffix!r}; a picture needs .png, .svg or .pdf")
    if output is None and not force and path.is_file():
        return path, True
    return check_writable(path, force), False


def _fifths(evaluation: Evaluation) -> dict[str, ProximityGroups]:
    raw, scaled = evaluation.pairs["identity"], evaluation.pairs["temperature"]
    outcomes = {"identity": raw.base, "temperature": scaled.base, "+ours": scaled.ours}
    return {name: proximity_groups(o.confidence, o.correct, o.log_proximity) for name, o in outcomes.items()}


def _print(
    console: Console, evaluation: Evaluation, fifths: dict[str, ProximityGroups], n_calibration: int, n_test: int
) -> None:
    console.print(WHAT_THIS_IS)
    console.print(
        f"\n{n_calibration} photographs calibrate and {n_test} others test; the network was trained on neither. All"
        " numbers below are from the test photographs alone.\n"
    )
    print_fifths(
        console,
        fifths["identity"].accuracy.tolist(),
        {name: list(zip(groups.confidence, groups.gap, strict=True)) for name, groups in fifths.items()},
        LEGEND,
    )
    console.print()
    print_comparison(console, evaluation, "predictions")
    console.print()
    print_legend(console, evaluation)
    console.print()
    selection = evaluation.pairs["temperature"].calibrator.selection_
    if selection is not None:
        print_choice(console, selection)
        console.print()


def _draw(evaluation: Evaluation, path: Path, force: bool) -> None:
    from proxcal.plots import before_after  # noqa: PLC0415 (matplotlib costs only this command)

    pair = evaluation.pairs["temperature"]
    figure = before_after(
        pair.base.confidence,
        pair.ours.confidence,
        pair.base.correct,
        pair.base.log_proximity,
        names=("Temperature scaling alone", "With proximity (+ours)"),
    )
    with atomic_write(path, force) as temporary:
        figure.savefig(temporary, dpi=120)
