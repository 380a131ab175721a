"""timm:NAME, with timm's own preprocessing for these weights; NAME may be a glob."""

from pathlib import Path

from proxcal._extras import require
from proxcal.integrations.extraction.network import (
    Network,
    State,
    digest,
    found_weights,
    one_line,
    read_weights,
    weights_of,
)

WHERE_FROM = (
    "fetch them (hf download timm/{name} --local-dir weights/{name}), then give their file or the folder of all with"
    " --weights"
)


def names(pattern: str, weights: Path | None) -> list[str]:
    """The models that timm knows by this glob and whose weights are there."""
    timm = require("timm", "timm", "timm:NAME")
    known = sorted({*timm.list_models(pattern), *timm.list_models(pattern, pretrained=True)})
    if not known:
        raise ValueError(f"timm:{pattern} is no model that timm {timm.__version__} knows")
    if weights is None or not weights.is_dir():
        raise ValueError(f"timm:{pattern} are {len(known)} models: give --weights a folder with the weights of each")
    there = [name for name in known if found_weights(name, weights)]
    if not there:
        raise ValueError(
            f"{weights} has weights of none of the {len(known)} models that timm:{pattern} is:"
            f" {WHERE_FROM.format(name=known[0])}"
        )
    return there


def load(name: str, weights: Path | None) -> Network:
    timm = require("timm", "timm", "timm:NAME")
    if not timm.is_model(name):
        raise ValueError(f"timm:{name} is no model that timm {timm.__version__} knows; timm:*{name[:4]}* shows some")
    path = weights_of(name, weights, "timm", WHERE_FROM.format(name=name))
    state = read_weights(path)
    config = timm.get_pretrained_cfg(name)
    n_classes = _n_classes(state, config)
    overlay = {"state_dict": state, **({} if n_classes is None else {"num_classes": n_classes})}
    try:
        model = timm.create_model(
            name,
            pretrained=True,
            pretrained_cfg_overlay=overlay,
            **({} if n_classes is None else {"num_classes": n_classes}),
        )
    except RuntimeError as error:
        raise ValueError(f"{path} does not fit timm:{name}: {one_line(error)}") from None
    settings = timm.data.resolve_model_data_config(model)
    prepare = timm.data.create_transform(**settings, is_training=False)
    return Network.of_module(name, "image", model, prepare, fingerprint=digest([path]))


def _n_classes(state: State, config: object) -> int | None:
    """How many classes the weights are for, where their head stands under its usual name."""
    classifier = getattr(config, "classifier", None)
    first = classifier[0] if isinstance(classifier, tuple | list) else classifier
    weight = state.get(f"{first}.weight")
    return None if weight is None else len(weight) - int(getattr(config, "label_offset", 0) or 0)
