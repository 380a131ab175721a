"""From models and samples to predictions files: one forward pass each, kept as it goes, gone on with after a kill."""

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from proxcal._arrays import check_suffix
from proxcal._extras import require
from proxcal._files import check_writable
from proxcal._validation import ProxcalWarning, check_labels, check_scores
from proxcal.datasets.samples import Samples
from proxcal.integrations.extraction.labels import labels_for
from proxcal.integrations.extraction.loading import Failure, batches, default_workers
from proxcal.integrations.extraction.network import Network, one_line
from proxcal.integrations.extraction.options import Extraction, Options
from proxcal.integrations.extraction.pca import Projection, check_components
from proxcal.integrations.extraction.result import described, there_before, write_result
from proxcal.integrations.extraction.shards import Shards
from proxcal.integrations.extraction.sources import expanded, file_name, load

SHARD_SECONDS, SHARD_BYTES = 20.0, 64 << 20
Progress = Callable[[int, int, str], None]


def extract_each(
    specs: Sequence[str],
    samples: Samples,
    folder: Path,
    options: Options,
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Iterator[Extraction]:
    """A file a model in `folder`; those that are there are left as they are. A model that fails is left out."""
    outputs: dict[Path, str] = {}
    for spec in expanded(specs, options.weights):
        path = folder / f"{file_name(spec)}.npz"
        if path in outputs:
            raise ValueError(f"{outputs[path]} and {spec} would both be {path}: give each an output of its own")
        outputs[path] = spec
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file; for several models a folder is needed, or .npz for one")
    folder.mkdir(parents=True, exist_ok=True)
    for number, (path, spec) in enumerate(outputs.items(), start=1):
        move = _numbered(progress, f"{number}/{len(outputs)}")
        try:
            if path.exists() and not overwrite:
                yield there_before(spec, samples, path, options)
            else:
                yield extract_to_file(spec, samples, path, options, overwrite=overwrite, progress=move)
        except (ValueError, ImportError, OSError, RuntimeError) as error:
            warnings.warn(f"left out: {spec}: {one_line(error)}", ProxcalWarning, stacklevel=2)
            yield Extraction(spec, str(path), error=one_line(error))


def extract_to_file(
    spec: str,
    samples: Samples,
    output: Path,
    options: Options,
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Extraction:
    """Run the model over the samples, or over those that an interrupted run left, and write its predictions."""
    check_suffix(output)
    check_writable(output, overwrite)
    _check_device(options.device)
    pca = Projection.load(options.pca) if isinstance(options.pca, Path) else options.pca
    network = load(spec, options.weights, samples.kind)
    if network.kind != samples.kind:
        raise ValueError(f"{spec} is a model of {network.kind}s; the data are {samples.kind}s")
    settings = {**options.settings(spec, samples), "weights": network.fingerprint}
    samples = labels_for(samples, network, options.classes)
    shards = Shards(output, {name: settings[name] for name in settings if name != "pca"}, overwrite=overwrite)
    started = time.monotonic()
    if shards.done < len(samples):
        _run(network, samples, shards, options, progress)
    arrays = write_result(network, samples, shards, output, settings, pca, overwrite)
    found = described(spec, output, arrays, len(samples), time.monotonic() - started)
    shards.discard()
    return found


def _run(network: Network, samples: Samples, shards: Shards, options: Options, progress: Progress | None) -> None:
    stretch = _Stretch(shards, options)
    workers = default_workers(options.device) if options.workers is None else options.workers
    loader = batches(
        samples, network, start=shards.done, batch_size=options.batch_size, workers=workers, device=options.device
    )
    begun, first = time.monotonic(), shards.done
    with _memory(options), network.extractor(head=options.head, device=options.device, amp=options.amp) as extractor:
        for batch in loader:
            _report(batch.failures, options.strict)
            if batch.rows:
                logits, features = extractor(batch.inputs)
                if stretch.is_first:
                    _check(logits, features, samples, options.pca)
                stretch.add(batch.rows, logits, features)
            stretch.reach(batch.stop, is_last=batch.stop == len(samples))
            if progress is not None:
                rate = (batch.stop - first) / max(time.monotonic() - begun, 1e-9)
                progress(batch.stop, len(samples), f"{network.name[:12]} {rate:.3g} {samples.kind}s/s")


class _Stretch:
    """Rows since the last shard, written as the next when they are many or old."""

    def __init__(self, shards: Shards, options: Options) -> None:
        from proxcal.integrations.torch.extraction import Collected  # noqa: PLC0415 (torch is an extra)

        self._shards, self._start, self._since = shards, shards.done, time.monotonic()
        self._collected, self._rows = Collected(options.features), list[int]()
        self.is_first = True

    def add(self, rows: list[int], logits: Any, features: Any) -> None:
        self._collected.add(logits, features)
        self._rows += rows
        self.is_first = False

    def reach(self, stop: int, *, is_last: bool) -> None:
        old = time.monotonic() - self._since >= SHARD_SECONDS
        if is_last or old or self._collected.n_bytes >= SHARD_BYTES:
            self._shards.append(self._start, stop, {"row": np.array(self._rows, np.intp), **self._collected.take()})
            self._start, self._since, self._rows = stop, time.monotonic(), []


def _check(logits: Any, features: Any, samples: Samples, pca: int | Path | None) -> None:
    """Before an hour is spent: are these logits, can the labels be theirs, and are there features enough?"""
    if isinstance(pca, int):
        check_components(pca, len(samples), features.shape[1])
    n_classes = logits.shape[1]
    check_scores(logits.float().cpu().numpy(), "logits")
    if samples.classes is not None and len(samples.classes) != n_classes:
        raise ValueError(
            f"the data has {len(samples.classes)} classes and the model {n_classes}: give --classes, a file with the"
            " name of a class in each line, in the model's order"
        )
    if samples.labels is not None:
        check_labels(samples.labels, len(samples), n_classes)


def _report(failures: Sequence[Failure], strict: bool) -> None:
    for name, reason in failures:
        if strict:
            raise ValueError(f"{name} cannot be read: {reason} (without --strict it is skipped)")
        warnings.warn(f"skipped: {name} cannot be read: {reason}", ProxcalWarning, stacklevel=2)


def _check_device(device: str) -> None:
    torch = require("torch", "torch", "extract")
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise ValueError(f"device is {device!r}, which torch cannot use here: {one_line(error, 80)}") from None


@contextmanager
def _memory(options: Options) -> Iterator[None]:
    """A device that is full says what to do about it."""
    try:
        yield
    except require("torch", "torch", "extract").OutOfMemoryError as error:
        raise ValueError(
            f"batch_size is {options.batch_size}, too many for the memory of {options.device}: give fewer"
            f" ({one_line(error, 80)})"
        ) from None


def _numbered(progress: Progress | None, number: str) -> Progress | None:
    if progress is None:
        return None
    return lambda done, total, text: progress(done, total, f"{number} {text}")
