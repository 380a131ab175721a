"""hf:PATH, a folder with a classifier of images or texts as transformers' `save_pretrained` leaves it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import Any

from proxcal._extras import require
from proxcal.datasets.samples import Kind
from proxcal.integrations.extraction.network import SUFFIXES, Network, as_it_is, digest, one_line

_LONGEST = 512  # tokens, of a tokenizer that does not say
_UNLIMITED = 10**9
_CLASSIFIERS: Mapping[Kind, str] = {
    "text": "AutoModelForSequenceClassification",
    "image": "AutoModelForImageClassification",
}


def names(pattern: str, weights: Path | None) -> list[str]:
    """The model folders that a glob of paths is."""
    found = sorted(path for path in glob(pattern) if (Path(path) / "config.json").is_file())
    if not found:
        raise ValueError(f"hf:{pattern} is no folder with a config.json in it")
    return found


def load(name: str, weights: Path | None) -> Network:
    folder = Path(name)
    if weights is not None:
        raise ValueError(f"hf:{name} has its weights in its folder; leave out --weights")
    if not (folder / "config.json").is_file():
        raise ValueError(
            f"hf:{name} needs a folder with a config.json, and nothing is downloaded: hf download MODEL --local-dir"
            f" {name}"
        )
    config = config_of(folder)
    kind = _kind(folder, config)
    model = from_folder(_CLASSIFIERS[kind], folder, dtype=require("torch", "torch", "extract").float32)
    files = [path for path in sorted(folder.iterdir()) if path.suffix in SUFFIXES]
    known = {"fingerprint": digest([folder / "config.json", *files]), "classes": classes_of(config)}
    if kind == "image":
        return Network.of_module(folder.name, kind, model, image_inputs(folder), **known)
    return Network.of_module(folder.name, kind, model, as_it_is, collate=text_inputs(folder), **known)


def config_of(folder: Path) -> Any:
    return from_folder("AutoConfig", folder)


def image_inputs(folder: Path) -> "ImageInputs":
    return ImageInputs(from_folder("AutoImageProcessor", folder))


def text_inputs(folder: Path, fixed: int | None = None) -> "TextInputs":
    """`fixed`: so many tokens, whatever the text."""
    tokenizer = from_folder("AutoTokenizer", folder)
    if fixed is not None:
        return TextInputs(tokenizer, fixed, "max_length")
    return TextInputs(tokenizer, longest(tokenizer, config_of(folder)))


@dataclass(frozen=True)
class ImageInputs:
    """An image as the model's own processor prepares it."""

    processor: Any

    def __call__(self, image: Any) -> dict[str, Any]:
        return {name: value[0] for name, value in self.processor(images=image, return_tensors="pt").items()}


@dataclass(frozen=True)
class TextInputs:
    """Texts, or pairs of them, as tokens, filled up to the longest of the batch."""

    tokenizer: Any
    longest: int
    padding: str = "longest"

    def __call__(self, texts: list[Any]) -> dict[str, Any]:
        columns = list(zip(*texts, strict=True)) if isinstance(texts[0], tuple) else [texts]
        tokens = self.tokenizer(
            *map(list, columns), padding=self.padding, truncation=True, max_length=self.longest, return_tensors="pt"
        )
        return dict(tokens)


def from_folder(auto: str, folder: Path, **arguments: Any) -> Any:
    """What one of transformers' Auto classes makes of the folder."""
    made = getattr(require("transformers", "transformers", "hf:PATH"), auto)
    try:
        with without_bars():
            return made.from_pretrained(folder, local_files_only=True, trust_remote_code=False, **arguments)
    except (ValueError, OSError, KeyError, RuntimeError) as error:
        raise ValueError(f"{folder} cannot be read by {auto}: {one_line(error)}") from None


@contextmanager
def without_bars() -> Iterator[None]:
    """transformers reads and writes without progress bars of its own."""
    bars = require("transformers.utils.logging", "transformers", "hf:PATH")
    shown = bars.is_progress_bar_enabled()
    bars.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            bars.enable_progress_bar()


def _kind(folder: Path, config: Any) -> Kind:
    architectures = " ".join(config.architectures or ())
    if "SequenceClassification" in architectures:
        return "text"
    if "ImageClassification" in architectures:
        return "image"
    raise ValueError(
        f"hf:{folder} holds {architectures or 'no architecture'}; it needs a model for sequence or image classification"
    )


def longest(tokenizer: Any, config: Any) -> int:
    """Tokens that the model takes: what the tokenizer says, unless that is its way to say nothing; then of the
    positions there are all but two, which some models keep for themselves."""
    positions = getattr(config, "max_position_embeddings", None) or _LONGEST
    said = int(tokenizer.model_max_length)
    return min(said, positions) if said < _UNLIMITED else min(_LONGEST, positions - 2)


def classes_of(config: Any) -> tuple[str, ...] | None:
    """The model's own names, if it has been given any."""
    by_id = {int(i): str(name) for i, name in (config.id2label or {}).items()}
    given = any(name != f"LABEL_{i}" for i, name in by_id.items())
    return tuple(by_id[i] for i in range(len(by_id))) if given and sorted(by_id) == list(range(len(by_id))) else None
