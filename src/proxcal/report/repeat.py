"""What it takes to come to the same report again: versions, and the command with every setting that was given."""

import platform
import shlex
from collections.abc import Mapping
from importlib.metadata import version
from os import PathLike, fspath
from typing import Any

import numpy as np

from proxcal.bundle import Predictions

OPTIONS = {
    "calibration": "--calibration",
    "train": "--train",
    "train_prefix": "--train-prefix",
    "prefix": "--prefix",
    "seed": "--seed",
    "fraction": "--fraction",
    "base": "--base",
    "informed": "--informed",
    "rows": "--rows",
    "n_neighbors": "--neighbors",
    "metric": "--metric",
}
FLAGS = {"paper": ("--paper", True), "normalize": ("--no-normalize", False)}
PACKAGES = ("proxcal", "numpy", "scipy", "scikit-learn", "matplotlib")


def versions() -> dict[str, str]:
    return {"Python": platform.python_version()} | {name: version(name) for name in PACKAGES}


def command(predictions: Any, given: Mapping[str, Any]) -> str:
    """The command line where all that was given has a name there, and the call from Python where not."""
    named = {name: _named(name, value) for name, value in {"predictions": predictions, **given}.items()}
    words = [_words(name, value) for name, value in given.items()]
    if isinstance(predictions, str | PathLike) and None not in words:
        return shlex.join(["proxcal", "audit", fspath(predictions), *(word for some in words for word in some or ())])
    source = named.pop("predictions")
    return f"px.audit({', '.join([source, *(f'{name}={value}' for name, value in named.items())])})"


def _words(name: str, value: Any) -> list[str] | None:
    if name in FLAGS:
        flag, on = FLAGS[name]
        return [flag] if value == on else []
    if name not in OPTIONS or not isinstance(value, str | int | float | PathLike | None):
        return None
    return [OPTIONS[name], "none" if value is None else str(value)]


def _named(name: str, value: Any) -> str:
    """As one would write it in Python; what is only there in memory goes by its name."""
    if isinstance(value, Predictions | np.ndarray | list):
        return name
    return repr(fspath(value) if isinstance(value, PathLike) else value)
