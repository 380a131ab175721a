"""Which backend `index` and `device` name, and which one "auto" stands for.

Among 25 000 references of 2048 columns the exact search wins in build + search over every other index
(`benchmarks/neighbors.py`). An index can win where references are very many, and then only if a small share of its
cells holds the neighbours: how large that share is depends on the data, so it is tried. "auto" is exact, but for very
many references on the CPU, with faiss at hand, where a sample's neighbours were found in a share of the cells so small
that the search takes half the time or less. To compare a row of a cell, by itself, costs several times what it costs in
a large product: 8 times at 64 columns, 18 at 784, towards 20 for wider ones.
"""

import importlib.util
from collections.abc import Mapping
from typing import Any, Literal

from proxcal._mapped import is_large
from proxcal._validation import Array, check_choice, check_number
from proxcal.proximity.faiss_index import ENOUGH, KINDS, FaissSearch
from proxcal.proximity.faiss_on_disk import FaissDiskSearch
from proxcal.proximity.parts import exact_search
from proxcal.proximity.references import References, Searcher
from proxcal.proximity.torch_search import TorchSearch

Index = Literal["auto", "exact", "flat", "ivfflat", "ivfpq", "hnsw"]
INDEXES: tuple[Index, ...] = ("auto", "exact", "flat", "ivfflat", "ivfpq", "hnsw")
KEPT = ("serialized_", "cells_", "cell_sizes_")  # what a backend's `kept` may name
MANY = 200_000  # references; among fewer, to try cells takes a good part of what comparing all of them does
_COSTLIEST, _HALF_AS_COSTLY = 20, 100  # times a row's cost in a product; at so many columns half of that


def check_backend(index: Any, device: Any, device_memory: Any) -> None:
    check_choice("index", index, INDEXES)
    if device_memory is not None:
        check_number("device_memory", device_memory, above=0)
    if device is None:
        return
    if not isinstance(device, str):
        raise ValueError(f'device must be a name that torch knows ("cpu", "cuda", "cuda:0,cuda:1"); got {device!r}')
    if index in KINDS:
        raise ValueError(f"device is {device!r}; index={index!r} is searched by faiss on the CPU: leave device out")


def fitted_searcher(
    index: Index, device: str | None, references: References, k: int, *, chunk_size: int, device_memory: float | None
) -> tuple[Index, Searcher, float]:
    """Which backend it is, never "auto"; the backend, looking far enough to find the k nearest; and the share found."""
    if index == "auto":
        index = "exact"
        if device is None and _many_in_memory(references) and importlib.util.find_spec("faiss"):
            cells = FaissSearch("ivfflat", references, chunk_size, {})
            recall = cells.look_until_found(k, at_most=_worth(references.rows.shape[1]))
            if recall >= ENOUGH:
                return "ivfflat", cells, recall
    searcher = make_searcher(index, device, references, chunk_size=chunk_size, device_memory=device_memory)
    return index, searcher, searcher.tune(k)


def _worth(d: int) -> float:
    """The share of the cells in which a search takes half the time of the exact one."""
    return min(1.0, (d + _HALF_AS_COSTLY) / (2 * _COSTLIEST * d))


def _many_in_memory(references: References) -> bool:
    return len(references.rows) >= MANY and not is_large(references.rows)


def make_searcher(
    index: Index,
    device: str | None,
    references: References,
    *,
    chunk_size: int,
    device_memory: float | None,
    kept: Mapping[str, Array] | None = None,
) -> Searcher:
    """`kept` is what the same backend's `kept` gave."""
    if index in KINDS:
        return _faiss_search(index, references, chunk_size, kept or {})
    if device is not None:
        return TorchSearch(references, device, device_memory)
    return exact_search(references, chunk_size)


def _faiss_search(index: str, references: References, chunk_size: int, kept: Mapping[str, Array]) -> FaissSearch:
    on_disk = "cells_" in kept if kept else index == "ivfflat" and is_large(references.rows)
    return (
        FaissDiskSearch(references, chunk_size, kept) if on_disk else FaissSearch(index, references, chunk_size, kept)
    )
