"""The command `proxcal`: what the library does, from a shell. One file a command, none with logic of its own.

Results go to stdout, progress and warnings to stderr, and whatever goes wrong is one line there and exit code 2: the
one place where errors become lines is here.
"""

import sys
import warnings
from collections.abc import Sequence
from typing import Annotated

import typer

from proxcal import ProxcalWarning, __version__
from proxcal.cli._seeds import SeveralSeeds
from proxcal.cli._terminal import say, show_warning
from proxcal.cli.apply import apply
from proxcal.cli.audit import audit
from proxcal.cli.bench import bench
from proxcal.cli.compress import compress
from proxcal.cli.demo import demo
from proxcal.cli.evaluate import evaluate
from proxcal.cli.extract import extract
from proxcal.cli.fit import fit
from proxcal.cli.monitor import monitor
from proxcal.cli.sweep import sweep

FAILED, INTERRUPTED = 2, 130

app = typer.Typer(
    help="Calibrated confidence that holds where data is sparse.",
    epilog="New here? Run: proxcal demo",
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(demo)
app.command()(extract)
app.command()(fit)
app.command()(apply)
app.command()(compress)
app.command(cls=SeveralSeeds)(evaluate)
app.command(cls=SeveralSeeds)(sweep)
app.command()(audit)
app.command()(monitor)
app.command()(bench)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"proxcal {__version__}")
        raise typer.Exit()


@app.callback(invoke_without_command=True)
def front(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line given, or else the process's own, and leave with its exit code."""
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: Sequence[str]) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("always", ProxcalWarning)
        warnings.showwarning = show_warning()
        try:
            return app(list(arguments), prog_name="proxcal", standalone_mode=False) or 0
        except (KeyboardInterrupt, typer.Abort):
            say("interrupted")
            return INTERRUPTED
        except Exception as error:
            say(_message(error))
            return FAILED


def _message(error: Exception) -> str:
    if hasattr(error, "format_message"):  # a usage error: typer has had several classes for it
        return f"{error.format_message()} (see proxcal --help)"
    if isinstance(error, MemoryError):
        return f"not enough memory: {error}"
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, (ValueError, OSError, ImportError)):
        return str(error)
    return f"{type(error).__name__}: {error} (this should not happen: please report it)"
