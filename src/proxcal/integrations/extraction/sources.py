"""What names a model: timm:NAME, torchvision:NAME, hf:PATH, onnx:FILE, or module:function of one's own.

A glob stands for all models of that source whose weights are there.
"""

from collections.abc import Iterable
from pathlib import Path

from proxcal.datasets.samples import Kind
from proxcal.integrations.extraction import (
    functions,
    onnx_models,
    timm_models,
    torchvision_models,
    transformers_models,
)
from proxcal.integrations.extraction.network import Network

SOURCES = {"timm": timm_models, "torchvision": torchvision_models, "hf": transformers_models, "onnx": onnx_models}
_GLOB = "*?["


def expanded(specs: Iterable[str], weights: Path | None) -> list[str]:
    """Each model once, globs as the models they stand for."""
    found: dict[str, None] = {}
    for spec in specs:
        source, name = _parts(spec)
        if any(sign in name for sign in _GLOB):
            if source not in SOURCES:
                raise ValueError(f"{spec} is a glob, which {', '.join(SOURCES)} take; name each function itself")
            found.update(dict.fromkeys(f"{source}:{each}" for each in SOURCES[source].names(name, weights)))
        else:
            found[spec] = None
    return list(found)


def file_name(spec: str) -> str:
    """What the predictions file of a model is called, without the suffix."""
    source, name = _parts(spec)
    if source not in SOURCES:
        return f"{source}.{name}"
    return onnx_models.called(name) if source == "onnx" else Path(name).name


def load(spec: str, weights: Path | None, kind: Kind) -> Network:
    """The model, ready to be run."""
    source, name = _parts(spec)
    if source in SOURCES:
        network: Network = SOURCES[source].load(name, weights)
        return network
    return functions.load(spec, weights, kind)


def _parts(spec: str) -> tuple[str, str]:
    source, colon, name = spec.partition(":")
    if not (source and colon and name):
        raise ValueError(
            f"the model is {spec!r}; it needs a source before its name: {', '.join(f'{known}:…' for known in SOURCES)},"
            " or module:function"
        )
    return source, name
