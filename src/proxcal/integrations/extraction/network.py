"""A model ready to be run over samples: what prepares an input for it, and what its weights are.

Nothing is downloaded and nothing unpickled: weights are a file on this machine, named or found in a folder by the
model's name, and hold tensors alone.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

from proxcal._extras import require
from proxcal._files import check_readable
from proxcal.datasets.samples import Kind

SUFFIXES = (".safetensors", ".pth", ".pt", ".bin")
IN_FOLDER = ("model.safetensors", "pytorch_model.bin")  # of a folder that the Hugging Face Hub's command downloaded
_WRAPPED = ("state_dict_ema", "model_ema", "state_dict", "model")  # where training scripts keep weights, best first
State = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Network:
    """`prepare` makes one input of an image or a text, `collate` a batch of them; `extractor(head=, device=, amp=)` is
    entered to give logits and features of a batch; `classes` are the model's own names, in its order."""

    name: str
    kind: Kind
    prepare: Callable[[Any], Any]
    collate: Callable[[list[Any]], Any]
    extractor: Callable[..., Any]
    fingerprint: str
    n_parameters: int | None = None
    classes: tuple[str, ...] | None = None

    @classmethod
    def of_module(cls, name: str, kind: Kind, model: Any, prepare: Callable[[Any], Any], **known: Any) -> "Network":
        """A network of PyTorch."""
        from proxcal.integrations.torch.extraction import Extractor  # noqa: PLC0415 (torch is an extra)

        n_parameters = sum(parameter.numel() for parameter in model.parameters())
        known.setdefault("collate", require("torch.utils.data", "torch", "extract").default_collate)
        return cls(name, kind, prepare, extractor=partial(Extractor, model), n_parameters=n_parameters or None, **known)


def as_it_is(value: Any) -> Any:
    return value


def weights_of(name: str, weights: Path | None, source: str, where_from: str, *patterns: str) -> Path:
    """The file of the model's weights: `weights` itself, or the one in that folder that is named like the model."""
    if weights is None:
        raise ValueError(f"{source}:{name} needs weights, and none are downloaded: {where_from}")
    if not weights.is_dir():
        return check_readable(weights)
    found = found_weights(name, weights, *patterns)
    if found is None:
        raise ValueError(
            f"{weights} has no weights of {name}, neither {name}.safetensors (or .pth) nor"
            f" {name}/{IN_FOLDER[0]}: {where_from}"
        )
    return found


def found_weights(name: str, folder: Path, *patterns: str) -> Path | None:
    """The file in a folder that has the model's weights; `patterns` are stems that such files have, too."""
    candidates = [folder / f"{name}{suffix}" for suffix in SUFFIXES] + [folder / name / file for file in IN_FOLDER]
    for path in candidates:
        if path.is_file():
            return path
    named = [
        path
        for path in sorted(folder.iterdir())
        if path.suffix in SUFFIXES and any(fnmatchcase(path.stem, pattern) for pattern in patterns)
    ]
    if len(named) > 1:
        raise ValueError(f"{folder} has {len(named)} files of weights of {name}: leave one, or name it {named[0].name}")
    return named[0] if named else None


def read_weights(path: Path) -> State:
    """The tensors of a file, by their names in the model."""
    torch = require("torch", "torch", "extract")
    check_readable(path)
    try:
        if path.suffix == ".safetensors":
            state = require("safetensors.torch", "torch", "extract").load_file(path)
        else:
            state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        reason = str(error).split("\n")[0]
        raise ValueError(
            f"{path} does not hold weights alone ({reason}); save the model's state_dict() as .safetensors or .pth"
        ) from None
    wrapped = [state[name] for name in _WRAPPED if isinstance(state, Mapping) and isinstance(state.get(name), Mapping)]
    state = wrapped[0] if wrapped else state
    if not isinstance(state, Mapping) or not all(isinstance(value, torch.Tensor) for value in state.values()):
        raise ValueError(f"{path} holds a {type(state).__name__} of more than tensors; save the model's state_dict()")
    if not any(name.startswith("module.") for name in state):
        return state  # with what torch keeps in it beside the tensors
    return {name.removeprefix("module."): value for name, value in state.items()}


def fill(model: Any, state: State, path: Path) -> None:
    """Put the weights into the model, all of them."""
    try:
        missing, unknown = model.load_state_dict(state, strict=False)
    except RuntimeError as error:
        raise ValueError(f"{path} does not fit the model: {one_line(error)}") from None
    if missing or unknown:
        first = [f"no {missing[0]}"] * bool(missing) + [f"{unknown[0]}, which the model has not"] * bool(unknown)
        raise ValueError(
            f"{path} does not fit the model: it has {' and '.join(first)} ({len(missing)} missing, {len(unknown)}"
            " unknown)"
        )


def one_line(error: Exception, longest: int = 200) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= longest else f"{text[:longest]}…"


def digest(paths: Sequence[Path]) -> str:
    """SHA-256 of the files, one after another."""
    found = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            found.update(hashlib.file_digest(file, "sha256").digest())
    return found.hexdigest()
