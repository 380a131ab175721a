"""Where a network's penultimate features are: they are what goes into its classifier head.

So one forward pass gives logits and features, by a hook that keeps the head's input. Which module is the head, the
model says itself (timm's `get_classifier()`), or its `config` tells by the number of labels (transformers); otherwise
it is the last linear layer, or where there is none the last convolution.
"""

import math
from typing import Any

from proxcal._extras import require

torch = require("torch", "torch", "proxcal.integrations.torch")
Tensor = Any
Module = Any

NAME_IT = "head=… (--layer on the command line)"


def find_head(model: Module, head: str | Module | None = None) -> Module:
    """The module of `model` that maps features to logits; `head` is it, or its name among `model.named_modules()`."""
    if isinstance(head, str):
        return _named(model, head)
    if head is not None:
        if any(head is module for module in model.modules()):
            return head
        raise ValueError(f"head is a {type(head).__name__} that is no part of the model; give one of its modules")
    if callable(getattr(model, "get_classifier", None)):
        return _of_timm(model)
    linear = _all(model, torch.nn.Linear) or _all(model, torch.nn.Conv2d)
    n_labels = getattr(getattr(model, "config", None), "num_labels", None)
    fitting = [module for module in linear if n_labels in (None, len(module.weight))]
    if not fitting:
        raise ValueError(
            f"{type(model).__name__} has no linear layer to take for its classifier head; name it: {NAME_IT}"
        )
    return fitting[-1]


def _all(model: Module, kind: Any) -> list[Module]:
    return [module for module in model.modules() if isinstance(module, kind)]


def _named(model: Module, name: str) -> Module:
    modules = dict(model.named_modules())
    if name not in modules:
        last = ", ".join(list(modules)[-5:])
        raise ValueError(f"head is {name!r}, which the model has no module of; its last ones are {last}")
    return modules[name]


def _of_timm(model: Module) -> Module:
    """Of several heads (distilled networks have two) the first, which sees the class token."""
    head = model.get_classifier()
    head = head[0] if isinstance(head, tuple | list) else head
    if not isinstance(head, torch.nn.Module) or isinstance(head, torch.nn.Identity):
        raise ValueError(f"{type(model).__name__} has no classifier (num_classes=0?), so it gives no logits")
    return head


class HeadInput:
    """Keeps what goes into `head` in the last forward pass, until the next `take()`. One pass at a time: threads that
    share a model would get each other's features."""

    def __init__(self, head: Module) -> None:
        self._kept: list[Tensor] = []
        self._head = head
        self._handle = head.register_forward_pre_hook(self._keep)

    def take(self, logits: Tensor | None = None) -> Tensor:
        """Features, (n, d). Where the head is given every token of a text, those of the token that `logits` are of."""
        if not self._kept:
            raise ValueError(
                f"the head was not called in this forward pass; name the one that gives the logits: {NAME_IT}"
            )
        features = self._kept[-1]
        self._kept.clear()
        if features.ndim > 2 and math.prod(features.shape[2:]) == 1:  # of a 1 x 1 convolution
            return features.flatten(1)
        if features.ndim == 4 and isinstance(self._head, torch.nn.Conv2d):  # its scores are averaged over the map
            return features.mean((2, 3))
        if features.ndim == 3 and logits is not None:
            return self._of_scored_token(features, logits)
        if features.ndim != 2:
            raise ValueError(
                f"the head's input has shape {tuple(features.shape)}; features need a row a sample, (n, d): name a"
                f" later {NAME_IT}"
            )
        return features

    def remove(self) -> None:
        self._handle.remove()

    def _keep(self, _: Module, inputs: tuple[Tensor, ...]) -> None:
        self._kept[:] = inputs[:1]

    def _of_scored_token(self, features: Tensor, logits: Tensor) -> Tensor:
        scores = self._head(features)
        self._kept.clear()
        if scores.shape[::2] != logits.shape:
            raise ValueError(
                f"the head gives shape {tuple(scores.shape)} for logits of shape {tuple(logits.shape)}; name the one"
                f" that gives the logits: {NAME_IT}"
            )
        token = (scores - logits[:, None]).abs().sum(2).argmin(1)
        return features[torch.arange(len(features), device=features.device), token]


def logits_of(output: Any) -> Tensor:
    """The logits of what a model's forward returned: a tensor, an output of transformers, or the first of a tuple."""
    if isinstance(output, torch.Tensor):
        return output
    if hasattr(output, "logits"):
        return output.logits
    if isinstance(output, tuple | list) and output and isinstance(output[0], torch.Tensor):
        return output[0]
    raise ValueError(f"the model gives a {type(output).__name__}; logits are needed, a tensor (n, C)")
