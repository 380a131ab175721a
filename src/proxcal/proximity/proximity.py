"""How much company a sample has: D(X) = exp(−mean distance to its K nearest references) (the paper's equation 1).

Low proximity marks what the data holds little of: rare classes, minorities, shifted inputs. exp underflows where
features are long, so the logarithm, −mean distance, is what is computed and kept; `score` is its exponential.
"""

from dataclasses import asdict
from threading import Lock
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from proxcal._estimator import Estimator
from proxcal._validation import Array, Floats, Ints, check_choice, check_features, check_integer, joined_rows
from proxcal.proximity._reduction import Reduction, as_queries
from proxcal.proximity.backends import KEPT, Index, check_backend, fitted_searcher, make_searcher
from proxcal.proximity.compression import Compression, StoredAs, with_further
from proxcal.proximity.coreset import Coreset
from proxcal.proximity.references import Neighbors, References, Searcher, largest_of, scale_of

Metric = Literal["euclidean", "cosine"]
_LONGEST = 1e18  # squares of longer rows overflow float32
_one_builds = Lock()  # whichever search; one of its own could not be copied with it


class Proximity(Estimator):
    """Proximity of samples to a reference set.

    Parameters
    ----------
    n_neighbors : K, the number of nearest references averaged over.
    metric : "euclidean", or "cosine" (1 − cosine, whatever `normalize` says).
    normalize : give each row unit length first. On raw features exp(−distance) collapses towards 0 for all samples.
    index : "exact": every reference is compared. "flat", "ivfflat", "ivfpq", "hnsw": faiss's indexes (the `faiss`
        extra); the last three look at part of the references, and `recall_` says what share of the neighbours they
        found, of a sample of references or of points unlike them, whichever is less. Of references that stay on disk
        "ivfflat" keeps its index there too. "auto": "exact", or, among 200 000 references and more in memory, "ivfflat"
        where that finds 95 % in half the time; `index_` says which.
    device : None: NumPy on the CPU. "cpu", "cuda", "cuda:0,cuda:1": torch (the `torch` extra) there, which compares
        every reference too, each device its share of them.
    device_memory : GiB that torch may take of each device; 4 of the CPU, four fifths of what a GPU has free unless
        told. References that do not fit are brought in parts.
    chunk_size : queries a block without a device; memory grows with it, and with nothing else but the results.
    """

    reduction_: Reduction | None = None
    compression_: dict[str, Any] | None = None  # the arguments of `compress`

    def __init__(
        self,
        *,
        n_neighbors: int = 10,
        metric: Metric = "euclidean",
        normalize: bool = True,
        index: Index = "exact",
        device: str | None = None,
        device_memory: float | None = None,
        chunk_size: int = 512,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.normalize = normalize
        self.index = index
        self.device = device
        self.device_memory = device_memory
        self.chunk_size = chunk_size

    def fit(self, features: ArrayLike, y: Any = None) -> Self:
        """Take `features` (n, d) as the references. They are kept as they are, in their own float type, not copied."""
        check_choice("metric", self.metric, ("euclidean", "cosine"))
        check_backend(self.index, self.device, self.device_memory)
        check_integer("chunk_size", self.chunk_size, at_least=1)
        rows = check_features(features)
        check_neighbors(self.n_neighbors, len(rows))
        return self._hold(references_of(rows, unit=self._unit))

    def partial_fit(self, features: ArrayLike, y: Any = None) -> Self:
        """Take further references, behind those so far: bit for bit as if all had come in one `fit`. Each call copies
        and measures all references once, in less time than a hundred samples are looked up; a faiss index is built
        again."""
        if not self.__sklearn_is_fitted__():
            return self.fit(features)
        return self._hold(self._grown(check_features(features, n_columns=self.n_columns)))

    def _hold(self, references: References) -> Self:
        index, searcher, recall = fitted_searcher(
            self.index,
            self.device,
            references,
            self.n_neighbors,
            chunk_size=self.chunk_size,
            device_memory=self.device_memory,
        )
        self.references_ = references.rows
        self.scale_ = references.scale
        self.center_ = references.center
        self.half_square_ = references.half_square
        self.index_, self.recall_ = index, recall
        self._search_with(searcher)
        return self

    def _search_with(self, searcher: Searcher) -> None:
        """In place of what another was to be built of."""
        self._searcher = searcher
        for name in KEPT:
            self.__dict__.pop(name, None)

    def _like(self, references: References, **state: Any) -> Self:
        """A search as this one, compressed as this one unless told, over other references."""
        other: Self = clone(self)
        for name, value in ({"reduction_": self.reduction_, "compression_": self.compression_} | state).items():
            setattr(other, name, value)
        return other._hold(references)

    def extended(self, features: Array) -> Self:
        """A search among these references and, behind them, further ones (checked)."""
        return self._like(self._grown(features))

    def _grown(self, features: Array) -> References:
        _check_squares(features)
        if self.compression_ is not None:
            return with_further(self._references, features, self.reduction_, unit=self._unit)
        return References.of(joined_rows(self.references_, features), unit=self._unit)

    def compress(
        self,
        *,
        dtype: StoredAs | None = "float16",
        n_components: int | None = None,
        n_references: int | None = None,
        coreset: Coreset = "random",
        random_state: int = 0,
    ) -> Self:
        """A search over the same references in less memory; this one stays as it is.

        Parameters
        ----------
        dtype : what references are kept in: "float16", "float32", or None, as they are.
        n_components : keep so many principal components, and the length of what they leave out.
        n_references : keep so many references, chosen by `coreset`. The fewer, the lower log proximity comes out, so
            what was learned from it must be learned again (`ProCal.compress` does that).
        coreset : "random", or "k-centre": each as far as can be from those chosen before it.
        random_state : draws the coreset.

        `compression_report` says what it did to proximity and PIECE.
        """
        return self.compressed(Compression(dtype, n_components, n_references, coreset, random_state))[0]

    def compressed(self, compression: Compression) -> tuple[Self, Ints]:
        """The compressed search, and which references are kept."""
        check_is_fitted(self)
        n, d = self.references_.shape
        compression.check(n, d, self.n_neighbors)
        if self.reduction_ is not None:
            raise ValueError(
                f"references are reduced to {self.reduction_.n_components} components already; compress the search that"
                " they came from"
            )
        references, kept, reduction = compression.applied(
            self._references, self._search(), self.n_neighbors, unit=self._unit
        )
        smaller = self._like(references, reduction_=reduction, compression_=asdict(compression))
        return smaller, kept

    @property
    def n_references(self) -> int:
        return len(self.references_)

    @property
    def n_columns(self) -> int:
        """Of the features that are looked up."""
        return int(self.references_.shape[1] if self.reduction_ is None else len(self.reduction_.mean_))

    @property
    def megabytes(self) -> float:
        """Of what is kept of the references."""
        kept = [self.references_, self.scale_, self.half_square_]
        if self.reduction_ is not None:
            kept.append(self.reduction_.axes_)
        return sum(array.nbytes for array in kept) / 1e6

    def neighbors(self, features: ArrayLike | None = None, k: int | None = None) -> Neighbors:
        """The k (n_neighbors unless told) nearest references of each row; of each reference itself where none are
        given, the sample itself left out by its index."""
        check_is_fitted(self)
        k = self.n_neighbors if k is None else k
        if features is None:
            check_neighbors(k, self.n_references)
            return self._nearest_of_references(k)
        check_neighbors(k, self.n_references + 1)
        rows = check_features(features, n_columns=self.n_columns)
        return self._nearest(*self._queries(rows, scale_of(rows, unit=self._unit)), k)

    def _neighbors_of_own(self, which: slice | Ints, k: int) -> Neighbors:
        """The k nearest of some of the references, each left out of its own."""
        rows = self.references_[which]
        rows = rows if self.reduction_ is None else as_queries(rows)
        return self._nearest(rows, self.scale_[which], k, np.arange(self.n_references)[which])

    def log_score_of_some(self, n_samples: int, random_state: int = 0) -> Floats:
        """log D of so many of the references, drawn at random, or of all: what `log_score()` gives of them."""
        which: slice | Ints = slice(None)
        if n_samples < self.n_references:
            which = np.sort(np.random.default_rng(random_state).permutation(self.n_references)[:n_samples])
        return log_proximity(self._neighbors_of_own(which, self.n_neighbors))

    def neighbors_of(self, whole: "Proximity", own: Ints, k: int) -> Neighbors:
        """The k nearest of each reference of the search that this is compressed from, itself left out; `own` says which
        of these here it is (−1: none)."""
        found = self._nearest(*self._queries(whole.references_, whole.scale_), min(k + 1, len(self.references_)))
        return found.without(own)

    def _nearest_of_references(self, k: int) -> Neighbors:
        return self._neighbors_of_own(slice(None), k)

    def _queries(self, rows: Array, scale: Floats) -> tuple[Array, Floats]:
        """scale · rows as they are looked up."""
        if self.reduction_ is None:
            return rows, scale
        return self.reduction_.queries(rows, scale), np.ones(len(rows))

    def _nearest(self, rows: Array, scale: Floats, k: int, own: Ints | None = None) -> Neighbors:
        return self._in_metric(self._search().search(rows, scale, k, own))

    def _in_metric(self, found: Neighbors) -> Neighbors:
        if self.metric == "cosine":  # for unit rows ‖a − b‖² = 2 (1 − cosine)
            return Neighbors(found.distances**2 / 2, found.indices)
        return found

    def log_score(self, features: ArrayLike | None = None) -> Floats:
        """log D, which does not underflow; see `neighbors` for no features."""
        return log_proximity(self.neighbors(features))

    def score(self, features: ArrayLike | None = None) -> Floats:
        """D in (0, 1]; see `neighbors` for no features."""
        return np.exp(self.log_score(features))

    def fit_score(self, features: ArrayLike, y: Any = None) -> Floats:
        """Proximity of the references to each other, no sample being its own neighbour."""
        return self.fit(features).score()

    def state_arrays(self) -> dict[str, Any]:
        """What `fit` learned; an index that cannot be built again bit for bit is there too."""
        state = super().state_arrays()
        return state | self._searcher.kept() if hasattr(self, "_searcher") else state

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and copies: what holds memory of other libraries is built again."""
        kept: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in kept.items() if name != "_searcher"} | self.state_arrays()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "references_")

    def _search(self) -> Searcher:
        """The backend; built when first asked for, where this was loaded."""
        if not hasattr(self, "_searcher"):
            with _one_builds:
                if not hasattr(self, "_searcher"):
                    self._search_with(self._built())
        return self._searcher

    def _built(self) -> Searcher:
        return make_searcher(
            getattr(self, "index_", self.index),  # files of old hold no index_
            self.device,
            self._references,
            chunk_size=self.chunk_size,
            device_memory=self.device_memory,
            kept={name: value for name, value in vars(self).items() if name in KEPT},
        )

    @property
    def _references(self) -> References:
        return References(self.references_, self.scale_, self.center_, self.half_square_)

    @property
    def _unit(self) -> bool:
        return self.normalize or self.metric == "cosine"


def references_of(rows: Array, *, unit: bool) -> References:
    """Of checked features."""
    _check_squares(rows)
    return References.of(rows, unit=unit)


def log_proximity(neighbors: Neighbors) -> Floats:
    """−mean distance, over all neighbours given."""
    mean: Floats = neighbors.distances.mean(axis=1)
    return -mean


def _check_squares(rows: Array) -> None:
    largest = largest_of(rows)
    if largest * np.sqrt(rows.shape[1]) >= _LONGEST:
        raise ValueError(f"features reach {largest:.3g}, whose squares overflow; rescale them")


def check_neighbors(k: int, n_references: int) -> int:
    check_integer("n_neighbors", k, at_least=1)
    if k >= n_references:
        raise ValueError(
            f"n_neighbors is {k}; the reference set has {n_references} samples and a sample is not its own neighbour, "
            f"so {k + 1} or more are needed"
        )
    return k
