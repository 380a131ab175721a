"""The options that more than one command takes, and what they say of themselves."""

from typing import Annotated, Any

import typer

from proxcal.base import BASES
from proxcal.informed import INFORMED

PREDICTIONS_HELP = "Predictions (.npz, .safetensors, .parquet, or a folder of .npy)"
BASE_HELP = f"How scores alone are calibrated: {', '.join(BASES)}, auto."

Informed = Annotated[
    str | None,
    typer.Option(
        help=f"How proximity corrects it: auto, none, {', '.join(INFORMED)}.",
        show_default="auto",
    ),
]
Rows = Annotated[
    str | None,
    typer.Option(help="keep (no prediction changes), rerank (some may) or paper.", show_default="keep"),
]
Neighbors = Annotated[
    int | None, typer.Option("--neighbors", "-k", help="Neighbours that proximity averages over.", show_default="10")
]
Metric = Annotated[
    str | None, typer.Option(help="Distance of features: euclidean or cosine.", show_default="euclidean")
]
NoNormalize = Annotated[
    bool, typer.Option("--no-normalize", help="Take features at their own length, not unit length.")
]
Paper = Annotated[bool, typer.Option("--paper", help="The paper's own settings.")]
Prefix = Annotated[str, typer.Option(help="What precedes the arrays' names in the files.", show_default=False)]
Force = Annotated[bool, typer.Option("--force", help="Replace output files that exist.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def settings(
    informed: str | None,
    rows: str | None,
    neighbors: int | None,
    metric: str | None,
    no_normalize: bool,
    **others: str | None,
) -> dict[str, Any]:
    """ProCal's arguments, of those that were given; `others` by their own names."""
    given: dict[str, Any] = {"rows": rows, "n_neighbors": neighbors, "metric": metric} | others
    given = {name: value for name, value in given.items() if value is not None}
    if informed is not None:
        given["informed"] = None if informed == "none" else informed
    if no_normalize:
        given["normalize"] = False
    return given
