"""Rows kept as they come, so that a kill at any moment loses at most the last half minute.

Beside the file to be, OUTPUT.part holds one .npz a stretch of samples, START-STOP.npz, written under another name and
renamed: each is whole, or absent. `settings.json` says what they were made with; others are refused. At the end all
are put together through files, never in memory at once.
"""

import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from proxcal._arrays import open_arrays, write_arrays
from proxcal._files import atomic_write
from proxcal._validation import Array

SETTINGS = "settings.json"
Settings = Mapping[str, Any]


class Shards:
    """`done` is the place of the first sample that is not in a shard."""

    def __init__(self, output: Path, settings: Settings, *, overwrite: bool = False) -> None:
        self._output, self._folder = output, output.with_name(f"{output.name}.part")
        if overwrite and self._folder.exists():
            shutil.rmtree(self._folder)
        self._folder.mkdir(exist_ok=True)
        self._keep(settings)

    @property
    def done(self) -> int:
        return max((_span(path)[1] for path in self._paths()), default=0)

    @property
    def n_rows(self) -> int:
        return sum(len(rows) for rows in self.read("row"))

    def append(self, start: int, stop: int, arrays: Mapping[str, Array]) -> None:
        """The rows of those of the samples from `start` to `stop` that could be read; `row` says which."""
        write_arrays(self._folder / f"{start:09d}-{stop:09d}.npz", arrays, overwrite=True)

    def read(self, name: str) -> Iterator[Array]:
        """This array of one shard after the other; of those without rows nothing."""
        for path in self._paths():
            file = open_arrays(path)
            if name in file.names:
                yield file.read(name)

    def joined(self, name: str) -> Array:
        """This array of all shards as one, mapped from a file."""
        n, first = self.n_rows, next(self.read(name))
        path = self._folder / f"{name}.npy"
        whole = np.lib.format.open_memmap(path, mode="w+", dtype=first.dtype, shape=(n, *first.shape[1:]))
        at = 0
        for rows in self.read(name):
            whole[at : at + len(rows)] = rows
            at += len(rows)
        return whole

    def discard(self) -> None:
        shutil.rmtree(self._folder)

    def _paths(self) -> list[Path]:
        return sorted(self._folder.glob("[0-9]*-[0-9]*.npz"))

    def _keep(self, settings: Settings) -> None:
        path = self._folder / SETTINGS
        if path.exists():
            check_same(self._output, json.loads(path.read_text(encoding="utf-8")), settings)
            return
        with atomic_write(path) as temporary:
            temporary.write_text(json.dumps(dict(settings)), encoding="utf-8")


def check_same(output: Path, before: Settings, now: Settings) -> None:
    """What is there was made with the same settings."""
    for name in dict.fromkeys([*now, *before]):
        then, asked = before.get(name), now.get(name)
        if then != asked:
            raise ValueError(
                f"{output} was begun with {name} {then!r}, and now it is {asked!r}: give another output, or --force to"
                " start anew"
            )


def _span(path: Path) -> tuple[int, int]:
    start, stop = path.stem.split("-")
    return int(start), int(stop)
