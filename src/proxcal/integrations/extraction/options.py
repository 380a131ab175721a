"""How models are run, and what became of each."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proxcal._validation import check_choice, check_integer
from proxcal.datasets.samples import Samples

FLOATS = ("float16", "float32")


@dataclass(frozen=True)
class Options:
    """`weights` is a file or a folder of files; `classes` are names in the model's order; `head` names the classifier
    head where it is not found by itself; `workers` None: what suits the device; `features` is the type they are kept
    in; `pca` a number of components, or a file that keeps a projection; `strict`: a sample that cannot be read ends
    it."""

    weights: Path | None = None
    classes: Sequence[str] | None = None
    head: str | None = None
    device: str = "cpu"
    amp: bool = False
    batch_size: int = 64
    workers: int | None = None
    features: str = "float16"
    pca: int | Path | None = None
    strict: bool = False

    def __post_init__(self) -> None:
        check_integer("batch_size", self.batch_size, at_least=1)
        if self.workers is not None:
            check_integer("workers", self.workers, at_least=0)
        if isinstance(self.pca, int):
            check_integer("pca", self.pca, at_least=1)
        check_choice("features", self.features, FLOATS)

    def settings(self, spec: str, samples: Samples) -> dict[str, Any]:
        """What decides what comes out, not how it is computed: a run goes on only from one with the same."""
        return {
            "model": spec,
            "data": told_apart(samples, self.classes),
            "layer": self.head,
            "amp": self.amp,
            "features": self.features,
            "pca": None if self.pca is None else str(self.pca),
        }


def told_apart(samples: Samples, classes: Sequence[str] | None = None) -> str:
    """What tells these samples from others, images by their names alone; and the order of classes asked for."""
    labels = None if samples.labels is None else samples.labels.tolist()
    digest = hashlib.sha256(json.dumps([list(samples.names), labels, samples.classes, classes]).encode())
    if samples.kind == "text":
        for text in samples.contents:
            digest.update(repr(text).encode())
    return f"{len(samples)} samples, {digest.hexdigest()[:12]}"


@dataclass(frozen=True)
class Extraction:
    """What became of one model: `seconds` is None where its file was there before, `error` why there is none."""

    model: str
    output: str
    samples: int = 0
    skipped: int = 0
    classes: int = 0
    features: int = 0
    accuracy: float | None = None
    seconds: float | None = None
    error: str | None = None
