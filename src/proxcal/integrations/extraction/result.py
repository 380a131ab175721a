"""The predictions file that all shards make together, and what it says of how it was made."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from proxcal._arrays import open_arrays, write_arrays
from proxcal._validation import Array, row_blocks
from proxcal.datasets.samples import Samples
from proxcal.experiments._metadata import text_of
from proxcal.integrations.extraction.network import Network
from proxcal.integrations.extraction.options import Extraction, Options
from proxcal.integrations.extraction.pca import Projection
from proxcal.integrations.extraction.shards import Shards, check_same

SETTINGS = "extraction"  # under which a predictions file keeps what it was made with


def write_result(
    network: Network,
    samples: Samples,
    shards: Shards,
    output: Path,
    settings: Mapping[str, Any],
    pca: int | Projection | None,
    overwrite: bool,
) -> dict[str, Array]:
    """The arrays of the file, which keeps the model's name and size beside them."""
    rows = np.concatenate(list(shards.read("row")))
    if not len(rows):
        raise ValueError(f"none of the {len(samples)} {samples.kind}s could be read, so there is nothing to write")
    arrays = {"logits": shards.joined("logits"), "features": shards.joined("features")}
    if pca is not None:
        projection = Projection.fit(lambda: shards.read("features"), pca) if isinstance(pca, int) else pca
        arrays |= {"features": projection.apply(arrays["features"]), **projection.arrays}
    if samples.labels is not None:
        arrays["labels"] = samples.labels[rows]
    arrays["ids"] = np.array([samples.names[row] for row in rows], dtype=np.str_)
    known = {"model": network.name, SETTINGS: json.dumps(dict(settings))}
    if network.n_parameters:
        known["parameters"] = str(network.n_parameters)
    write_arrays(output, arrays, overwrite, known)
    return arrays


def described(
    spec: str, output: Path, arrays: Mapping[str, Array], n_samples: int, seconds: float | None = None
) -> Extraction:
    """Its figures; accuracy shows at once whether the labels are the model's."""
    logits, labels = arrays["logits"], arrays.get("labels")
    return Extraction(
        spec,
        str(output),
        samples=len(logits),
        skipped=n_samples - len(logits),
        classes=logits.shape[1],
        features=arrays["features"].shape[1],
        accuracy=None if labels is None else _accuracy(logits, labels),
        seconds=seconds,
    )


def there_before(spec: str, samples: Samples, output: Path, options: Options) -> Extraction:
    """A file that an earlier run with the same settings finished."""
    file = open_arrays(output)
    before = text_of(output, file, SETTINGS)
    if not before:
        raise ValueError(f"{output} exists, and not from an extraction: give another output, or --force to replace it")
    check_same(output, {**json.loads(before), "weights": None}, options.settings(spec, samples))
    arrays = {name: file.read(name) for name in file.names if name in ("logits", "features", "labels")}
    return described(spec, output, arrays, len(samples))


def _accuracy(logits: Array, labels: Array) -> float:
    right = sum(int((logits[rows].argmax(axis=1) == labels[rows]).sum()) for rows in row_blocks(*logits.shape))
    return right / len(logits)
