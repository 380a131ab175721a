"""Batches of samples, prepared by worker processes into memory that a GPU reads directly.

An image that cannot be read comes back as a name and a reason, so that one bad file does not end an hour's work.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from PIL import Image

from proxcal._extras import require
from proxcal.datasets.samples import Samples
from proxcal.integrations.extraction.network import Network, one_line

MOST_WORKERS = 8


class Failure(NamedTuple):
    """A sample that could not be read."""

    name: str
    reason: str


class Batch(NamedTuple):
    """`rows` are the places of the samples in `inputs`; those at places up to `stop` that are not in it failed."""

    rows: list[int]
    inputs: Any
    failures: list[Failure]
    stop: int


def default_workers(device: str) -> int:
    """On a GPU a process a core, up to eight; where the network needs the cores itself, one to read ahead."""
    return min(MOST_WORKERS, os.cpu_count() or 1) if device.startswith("cuda") else 1


def batches(
    samples: Samples, network: Network, *, start: int, batch_size: int, workers: int, device: str
) -> Iterator[Batch]:
    """From the sample `start` on, in order."""
    data = require("torch.utils.data", "torch", "extract")
    loader = data.DataLoader(
        _Prepared(samples, network.prepare, start),
        batch_size=batch_size,
        num_workers=workers,
        collate_fn=_Collate(network.collate),
        pin_memory=device.startswith("cuda"),
        worker_init_fn=_leave_interrupts,
    )
    yield from loader


def _leave_interrupts(_: int) -> None:
    """Ctrl-C reaches every process of a terminal; what is said of it, the first one says. It may leave in the middle of
    taking a batch over: a worker that is left so has nothing to tell either."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.excepthook = _tell_unless_left


def _tell_unless_left(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if not issubclass(kind, (ConnectionError, EOFError)):
        sys.__excepthook__(kind, error, trace)


@dataclass(frozen=True)
class _Prepared:
    """Samples as the network takes them: place, input and, of those that cannot be read, the failure."""

    samples: Samples
    prepare: Callable[[Any], Any]
    start: int

    def __len__(self) -> int:
        return len(self.samples) - self.start

    def __getitem__(self, i: int) -> tuple[int, Any, Failure | None]:
        place = self.start + i
        if self.samples.kind == "text":
            return place, self.prepare(self.samples.contents[place]), None
        try:
            image = _read(self.samples.contents[place])
        except Exception as error:  # Pillow's parsers fail in many ways
            return place, None, Failure(self.samples.names[place], one_line(error))
        return place, self.prepare(image), None


def _read(path: Any) -> Image.Image:
    with Image.open(Path(path)) as image:
        return image.convert("RGB")


@dataclass(frozen=True)
class _Collate:
    collate: Callable[[list[Any]], Any]

    def __call__(self, items: list[tuple[int, Any, Failure | None]]) -> Batch:
        good = [(place, value) for place, value, failure in items if failure is None]
        return Batch(
            [place for place, _ in good],
            self.collate([value for _, value in good]) if good else None,
            [failure for _, _, failure in items if failure is not None],
            items[-1][0] + 1,
        )
