"""Which backend `index` and `device` name."""

from typing import Any, Literal

from proxcal._mapped import is_large
from proxcal._validation import Array, check_choice, check_number
from proxcal.proximity.exact import ExactSearch
from proxcal.proximity.faiss_index import KINDS, FaissSearch
from proxcal.proximity.parts import PartsSearch
from proxcal.proximity.references import References, Searcher
from proxcal.proximity.torch_search import TorchSearch

Index = Literal["exact", "flat", "ivfflat", "ivfpq", "hnsw"]
INDEXES: tuple[Index, ...] = ("exact", "flat", "ivfflat", "ivfpq", "hnsw")


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
