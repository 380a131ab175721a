"""Which backend `index` and `device` name, and which one "auto" stands for.

Among 25 000 references of 2048 columns the exact search wins in build + search over every other index
(`benchmarks/neighbors.py`). An index can win where references are very many, and then only if a small share of its
cells holds the neighbours: how large that share is depends on the data, so it is tried. "auto" is exact, but for very
many references on the CPU, with faiss at hand, where a sample's neighbours were found in a small share of the cells.
"""

import importlib.util
from typing import Any, Literal

from proxcal._mapped import is_large
from proxcal._validation import Array, check_choice, check_number
from proxcal.proximity.exact import ExactSearch
from proxcal.proximity.faiss_index import ENOUGH, KINDS, FaissSearch
from proxcal.proximity.parts import PartsSearch
from proxcal.proximity.references import References, Searcher
from proxcal.proximity.torch_search import TorchSearch

Index = Literal["auto", "exact", "flat", "ivfflat", "ivfpq", "hnsw"]
INDEXES: tuple[Index, ...] = ("auto", "exact", "flat", "ivfflat", "ivfpq", "hnsw")
MANY = 100_000  # references; with fewer, cells are not tried
_WORTH = 1 / 16  # of the cells; rows of a cell are compared several times slower than by a large product


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
            cells = FaissSearch("ivfflat", references, chunk_size)
            recall = cells.look_until_found(k, at_most=_WORTH)
            if recall >= ENOUGH:
                return "ivfflat", cells, recall
    searcher = make_searcher(index, device, references, chunk_size=chunk_size, device_memory=device_memory)
    return index, searcher, searcher.tune(k)


def _many_in_memory(references: References) -> bool:
    return len(references.rows) >= MANY and not is_large(references.rows)


def make_searcher(
    index: Index,
    device: str | None,
    references: References,
    *,
    chunk_size: int,
    device_memory: float | None,
    serialized: Array | None = None,
) -> Searcher:
    """`serialized` is what the same backend's `to_bytes` gave."""
    if index in KINDS:
        return FaissSearch(index, references, chunk_size, serialized)
    if device is not None:
        return TorchSearch(references, device, device_memory)
    if is_large(references.rows):
        return PartsSearch(references, chunk_size)
    return ExactSearch(references, chunk_size)
