"""module:function, a function of one's own that returns (model, prepare): any network of PyTorch.

`prepare` gets a sample, an RGB image of Pillow or a text, and returns the tensor (or the mapping of tensors) of it that
the model takes a batch of. The module is looked for in the current folder too.
"""

import importlib
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from proxcal.datasets.samples import Kind
from proxcal.integrations.extraction.network import Network, digest, fill, read_weights


def load(spec: str, weights: Path | None, kind: Kind) -> Network:
    function = imported(spec)
    made = function()
    if not isinstance(made, tuple) or len(made) != 2 or not callable(made[1]) or not hasattr(made[0], "parameters"):
        raise ValueError(
            f"{spec} returned a {type(made).__name__}; (model, prepare) is needed: a torch module, and a function of an"
            " image or a text that gives what goes into a batch"
        )
    model, prepare = made
    files = [Path(inspect.getsourcefile(function) or "")]
    if weights is not None:
        fill(model, read_weights(weights), weights)
        files.append(weights)
    return Network.of_module(
        spec.replace(":", "."), kind, model, prepare, fingerprint=digest([path for path in files if path.is_file()])
    )


def imported(spec: str) -> Callable[..., Any]:
    module, _, name = spec.partition(":")
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        function = getattr(importlib.import_module(module), name, None)
    except ImportError as error:
        raise ValueError(f"{spec}: {module} cannot be imported ({error})") from None
    if not callable(function):
        raise ValueError(f"{spec}: {module} has no function {name!r}")
    made: Callable[..., Any] = function
    return made
