"""`proxcal reproduce`: one of the paper's tables or figures from predictions files, the paper's own figures beside."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from proxcal.cli import _options as options
from proxcal.cli._reproduction import print_protocol, print_protocols, print_reproduction
from proxcal.cli._terminal import progress, say, stdout
from proxcal.experiments import reproduce as protocols


def reproduce(
    table: Annotated[
        str | None,
        typer.Argument(help=f"{', '.join(protocols.PROTOCOLS)}; or a table's number.", show_default=False),
    ] = None,
    files: Annotated[
        list[str] | None,
        typer.Argument(
            help="Predictions in the order that --list gives: FILE, NAME=FILE, or FILE:PREFIX where the arrays' names"
            " in it have a prefix.",
            metavar="FILE...",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder for the tables (CSV) and the picture. A run begun there resumes."),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="Say what each table, or this one, needs, and stop.")] = False,
    scaled: Annotated[
        bool,
        typer.Option("--scaled", help="Take fewer samples than the paper's; the title then says so."),
    ] = False,
    own_settings: Annotated[
        bool, typer.Option("--own-settings", help="proxcal's own settings in place of the paper's; the title says so.")
    ] = False,
    network_time: Annotated[
        float | None,
        typer.Option(help="inference-time: the network's own milliseconds a sample.", metavar="MS", show_default=False),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Start anew, and replace what is there.")] = False,
    as_json: options.Json = False,
) -> None:
    """Run one of the paper's tables or figures by its own protocol, and print its figures beside."""
    if list_ or table is None:
        _list(table, as_json)
        return
    if output is None:
        raise ValueError("reproduce needs --output: a folder for the tables and the picture")
    try:
        with progress() as move:
            found = protocols.reproduce(
                table,
                files or [],
                scaled=scaled,
                own_settings=own_settings,
                network_ms=network_time,
                output=output,
                overwrite=force,
                progress=move,
            )
    except KeyboardInterrupt:
        say(f"interrupted: {output} keeps what is done; the same command, without --force, resumes")
        raise
    if as_json:
        typer.echo(found.to_json())
        return
    console = stdout()
    print_reproduction(console, found)
    for path in found.paths(output):
        console.print(f"Written: {path.resolve()}", soft_wrap=True)


def _list(table: str | None, as_json: bool) -> None:
    chosen = list(protocols.PROTOCOLS.values()) if table is None else [protocols.find_protocol(table)]
    if as_json:
        typer.echo(json.dumps([asdict(protocol) | {"methods": protocol.methods} for protocol in chosen], indent=1))
    elif table is None:
        print_protocols(stdout(), chosen)
    else:
        print_protocol(stdout(), chosen[0])
