"""torchvision:NAME, preprocessed as torchvision says for the weights of that file's name, or else for its best ones."""

from pathlib import Path, PurePosixPath
from typing import Any

from proxcal._extras import require
from proxcal.integrations.extraction.network import (
    Network,
    State,
    digest,
    fill,
    found_weights,
    read_weights,
    weights_of,
)

WHERE_FROM = "fetch {url}, then give its file or the folder of all with --weights"
_HASHED = "-????????"  # what torchvision's own files have behind the model's name


def names(pattern: str, weights: Path | None) -> list[str]:
    """The classifiers that torchvision has by this glob and whose weights are there."""
    models = _models()
    known = models.list_models(module=models, include=pattern)
    if not known:
        raise ValueError(f"torchvision:{pattern} is no classifier that torchvision knows")
    if weights is None or not weights.is_dir():
        raise ValueError(f"torchvision:{pattern} are {len(known)} models: give --weights a folder with those of each")
    there = [name for name in known if found_weights(name, weights, name + _HASHED)]
    if not there:
        raise ValueError(f"{weights} has weights of none of the {len(known)} models that torchvision:{pattern} is")
    return there


def load(name: str, weights: Path | None) -> Network:
    from proxcal.integrations.torch.head import find_head  # noqa: PLC0415 (torch is an extra)

    models = _models()
    if name not in models.list_models(module=models):
        raise ValueError(f"torchvision:{name} is no classifier that torchvision knows, such as torchvision:resnet50")
    published = models.get_model_weights(name)
    where_from = WHERE_FROM.format(url=published.DEFAULT.url)
    path = weights_of(name, weights, "torchvision", where_from, name + _HASHED)
    state = read_weights(path)
    model = _made(models, name)
    head = find_head(model)
    place = next(place for place, module in model.named_modules() if module is head)
    n_classes = _n_classes(state, place)
    if n_classes not in (None, len(head.weight)):
        model = _made(models, name, num_classes=n_classes)
    fill(model, state, path)
    fitting = [known for known in published if PurePosixPath(known.url).name == path.name]
    prepare = (fitting[0] if fitting else published.DEFAULT).transforms()
    return Network.of_module(name, "image", model, prepare, fingerprint=digest([path]))


def _models() -> Any:
    return require("torchvision.models", "timm", "torchvision:NAME")


def _made(models: Any, name: str, **arguments: Any) -> Any:
    if name in ("googlenet", "inception_v3"):  # they warn that they take long to start from random weights
        arguments["init_weights"] = False
    return models.get_model(name, weights=None, **arguments)


def _n_classes(state: State, head: str) -> int | None:
    weight = state.get(f"{head}.weight")
    return None if weight is None else len(weight)
