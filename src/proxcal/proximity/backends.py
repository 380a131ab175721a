"""Which backend an `index` names."""

from typing import Literal

from proxcal._validation import Array
from proxcal.proximity.exact import ExactSearch
from proxcal.proximity.faiss_index import KINDS, FaissSearch
from proxcal.proximity.references import References, Searcher

Index = Literal["exact", "flat", "ivfflat", "ivfpq", "hnsw"]
INDEXES: tuple[Index, ...] = ("exact", "flat", "ivfflat", "ivfpq", "hnsw")


def make_searcher(index: Index, references: References, chunk_size: int, serialized: Array | None = None) -> Searcher:
    """`serialized` is what the same backend's `to_bytes` gave."""
    if index in KINDS:
        return FaissSearch(index, references, chunk_size, serialized)
    return ExactSearch(references, chunk_size)
