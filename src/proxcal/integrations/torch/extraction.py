"""Logits and features of a whole data set in one pass of a network over it.

What goes into the head is kept as the forward pass goes by (`head`), so features cost nothing. Rows stay on the device
until there are many: one copy to the host for many batches does not hold up the next one.
"""

from collections.abc import Callable, Iterable, Mapping, Sized
from contextlib import ExitStack
from typing import Any, Self

import numpy as np

from proxcal._extras import require
from proxcal._validation import Array, check_choice
from proxcal.bundle import Predictions
from proxcal.integrations.torch.head import HeadInput, Module, Tensor, find_head, logits_of

torch = require("torch", "torch", "proxcal.integrations.torch")

FLOATS = ("float16", "float32")
LABELS = ("labels", "label")  # what they are called in a batch that is a mapping
_COLLECT_BYTES = 64 << 20
Progress = Callable[[int, int, str], None]


def extract(
    model: Module,
    loader: Iterable[Any],
    *,
    head: str | Module | None = None,
    device: str | None = None,
    amp: bool = False,
    features: str = "float16",
    progress: Progress | None = None,
) -> Predictions:
    """What `model` says of every sample of `loader`, and the features it says it from, in one pass.

    A batch is inputs alone, (inputs, labels) or (inputs, labels, ids); or a mapping that the model takes by name, whose
    `labels` are kept from it. `head` names the classifier head where it is not found by itself; `device` is the
    model's own unless given; `amp` computes in 16 bits where that is safe; `features` is the type they are kept in.
    """
    collected = Collected(features)
    parts: list[dict[str, Array]] = []
    known: dict[str, list[Any]] = {"labels": [], "ids": []}
    n = len(loader) if isinstance(loader, Sized) else 0
    with Extractor(model, head=head, device=device, amp=amp) as extractor:
        for done, batch in enumerate(loader, start=1):
            inputs, labels, ids = _unpacked(batch)
            collected.add(*extractor(inputs))
            for name, values in (("labels", labels), ("ids", ids)):
                if values is not None:
                    known[name].append(np.asarray(values))
            if collected.n_bytes > _COLLECT_BYTES:
                parts.append(collected.take())
            if progress is not None:
                progress(done, n, "batches")
    if not collected.n_bytes and not parts:
        raise ValueError("loader gave no batch; one at the least is needed")
    parts.append(collected.take())
    arrays = {name: np.concatenate([part[name] for part in parts if part]) for name in ("logits", "features")}
    return Predictions(**arrays, **{name: np.concatenate(values) for name, values in known.items() if values})


class Extractor:
    """A network in evaluation mode on `device`, giving (logits, features) of a batch; used in a `with`, after which the
    network is as it was."""

    def __init__(
        self, model: Module, *, head: str | Module | None = None, device: str | None = None, amp: bool = False
    ) -> None:
        self._model = model if device is None else model.to(device)
        self._head = find_head(model, head)
        parameter = next(model.parameters(), None)
        self.device = torch.device("cpu") if parameter is None else parameter.device
        self._amp = amp

    def __enter__(self) -> Self:
        self._training = [module for module in self._model.modules() if module.training]
        self._model.eval()
        self._input = HeadInput(self._head)
        return self

    def __exit__(self, *_: object) -> None:
        self._input.remove()
        for module in self._training:
            module.training = True

    def __call__(self, inputs: Any) -> tuple[Tensor, Tensor]:
        inputs = _moved(inputs, self.device)
        with ExitStack() as modes:
            modes.enter_context(torch.inference_mode())
            if self._amp:
                half = torch.float16 if self.device.type == "cuda" else torch.bfloat16
                modes.enter_context(torch.autocast(self.device.type, dtype=half))
            logits = logits_of(self._model(**inputs) if isinstance(inputs, Mapping) else self._model(inputs))
            return logits, self._input.take(logits)


class Collected:
    """Rows of one batch after another; features are copied out of the larger arrays that networks keep them in."""

    def __init__(self, features: str) -> None:
        self._dtype = getattr(torch, check_choice("features", features, FLOATS))
        self._logits: list[Tensor] = []
        self._features: list[Tensor] = []
        self.n_bytes = 0

    def add(self, logits: Tensor, features: Tensor) -> None:
        self._logits.append(logits.to(torch.float32, copy=True))
        self._features.append(features.to(self._dtype, copy=True))
        self.n_bytes += sum(rows[-1].numel() * rows[-1].element_size() for rows in (self._logits, self._features))

    def take(self) -> dict[str, Array]:
        """All since the last time, on the host."""
        if not self._logits:
            return {}
        arrays = {"logits": _on_host(self._logits), "features": _on_host(self._features)}
        self._logits, self._features, self.n_bytes = [], [], 0
        for name, array in arrays.items():
            _check_finite(name, array)
        return arrays


def _check_finite(name: str, array: Array) -> None:
    if np.isfinite(array).all():
        return
    if array.dtype == np.float16 and not np.isnan(array).any():
        raise ValueError(f'{name} has values beyond float16, 65504; keep them as features="float32"')
    raise ValueError(f"{name} has values that are not finite (NaN or infinity); without amp there may be none")


def _on_host(rows: list[Tensor]) -> Array:
    array: Array = torch.cat(rows).cpu().numpy()
    return array


def _unpacked(batch: Any) -> tuple[Any, Any, Any]:
    """Inputs, labels and ids, the last two None where there are none."""
    if isinstance(batch, Mapping):
        named = dict(batch)
        labels = [named.pop(name) for name in LABELS if name in named]
        return named, labels[0] if labels else None, named.pop("ids", None)
    if isinstance(batch, tuple | list):
        if not 1 <= len(batch) <= 3:
            raise ValueError(f"a batch has {len(batch)} parts; it needs (inputs, labels) or (inputs, labels, ids)")
        inputs, labels, ids = (*batch, None, None)[:3]
        return inputs, labels, ids
    return batch, None, None


def _moved(inputs: Any, device: Any) -> Any:
    if isinstance(inputs, Mapping):
        return {name: _moved(value, device) for name, value in inputs.items()}
    return inputs.to(device, non_blocking=True) if isinstance(inputs, torch.Tensor) else inputs
