"""One part of the references, and the exact search among it: what an actor holds.

An actor that dies is built again from what it was given, references in the object store or the name of a file; so what
is made of that is made when first asked for, and an error in it is the error of whoever asks.
"""

from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from proxcal._arrays import open_arrays
from proxcal._validation import Array, Floats, check_features
from proxcal.proximity import Neighbors
from proxcal.proximity._reduction import as_queries
from proxcal.proximity.backends import make_searcher
from proxcal.proximity.proximity import references_of
from proxcal.proximity.references import References, Searcher


class ReferenceFile(NamedTuple):
    """An array of features in a .npz or .safetensors file; `unit` says whether its rows get unit length."""

    path: str
    name: str
    unit: bool

    def open(self) -> References:
        file = open_arrays(Path(self.path))
        if self.name not in file.names:
            raise ValueError(f"{self.path} has {', '.join(file.names) or 'nothing'}; it needs {self.name}")
        try:
            return references_of(check_features(file.read(self.name)), unit=self.unit)
        except ValueError as error:
            raise ValueError(f"{self.path}: {error}") from None


class Shard:
    """`settings` are those of `make_searcher`."""

    def __init__(self, source: References | ReferenceFile, settings: dict[str, Any]) -> None:
        self._source, self._settings = source, settings

    @cached_property
    def _references(self) -> References:
        return self._source if isinstance(self._source, References) else self._source.open()

    @cached_property
    def _searcher(self) -> Searcher:
        return make_searcher("exact", references=self._references, **self._settings)

    def shape(self) -> tuple[int, int]:
        n, d = self._references.rows.shape
        return n, d

    def rows(self, block: slice, reduced: bool) -> tuple[Array, Floats]:
        """Some of the references as they are looked up, and their scale."""
        rows = self._references.rows[block]
        return as_queries(rows) if reduced else rows, self._references.scale[block]

    def nearest(self, queries: tuple[Array, Floats], k: int, start: int) -> Neighbors:
        """The k nearest references, or all where there are fewer, counted from `start`."""
        found = self._searcher.search(*queries, min(k, self.shape()[0]), None)
        return Neighbors(found.distances, found.indices + start)
