"""Stages in which neighbours are sought or used: the search itself, neighbour votes, and ProCal whole.

Beside the search stands the bare matrix product that no exact search can do without, by NumPy and by torch.
"""

from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from proxcal._validation import Array, Floats, check_scores
from proxcal.base import NeighborVotes
from proxcal.base._bare import check_labelled
from proxcal.base._calibrator import joined
from proxcal.experiments.bench.stage import Contestant, Stage, itself
from proxcal.experiments.bench.workload import Samples, Workload, simulated
from proxcal.procal import ProCal
from proxcal.proximity import Neighbors, Proximity

_K = 10
_BLOCK = 1024
_NARROW = 64  # columns that are searched where the search is not what is timed
_ANY_NEIGHBORS = 50  # as many as evidence and votes look at


class _Found(NamedTuple):
    """Samples, and their neighbours among the calibration samples, found before the clock starts."""

    calibration: Samples
    test: Samples
    among: Neighbors
    of_test: Neighbors


def _features(workload: Workload) -> tuple[Array, Array]:
    calibration, test = simulated(workload)
    return calibration.features, test.features


def _proximity(features: tuple[Array, Array]) -> Floats:
    references, queries = features
    return Proximity(n_neighbors=_K).fit(references).score(queries)


def _unit(rows: Array) -> Array:
    unit: Array = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def _by_faiss(features: tuple[Array, Array]) -> Floats:
    references, queries = features
    index = import_module("faiss").IndexFlatL2(references.shape[1])
    index.add(_unit(references))
    squares = index.search(_unit(queries), _K)[0]
    proximity: Floats = np.exp(-np.sqrt(np.maximum(squares, 0)).mean(axis=1))
    return proximity


def _by_sklearn(features: tuple[Array, Array]) -> Floats:
    search = import_module("sklearn.neighbors").NearestNeighbors(n_neighbors=_K, algorithm="brute")
    references, queries = features
    proximity: Floats = np.exp(-search.fit(_unit(references)).kneighbors(_unit(queries))[0].mean(axis=1))
    return proximity


def _products(features: tuple[Any, Any]) -> None:
    references, queries = features
    for start in range(0, len(queries), _BLOCK):
        queries[start : start + _BLOCK] @ references.T


def _products_by_torch(features: tuple[Array, Array]) -> None:
    torch = import_module("torch")
    _products((torch.from_numpy(features[0]), torch.from_numpy(features[1])))


def _found(workload: Workload) -> _Found:
    calibration, test = simulated(workload._replace(n_columns=_NARROW))
    search = Proximity().fit(calibration.features)
    k = min(_ANY_NEIGHBORS, workload.n - 1)
    return _Found(calibration, test, search.neighbors(k=k), search.neighbors(test.features, k=k))


def _votes(found: _Found) -> Floats:
    logits, test = check_scores(found.calibration.logits, "logits"), check_scores(found.test.logits, "logits")
    votes = NeighborVotes().fit_with(logits, found.calibration.labels, found.among)
    return joined(votes.blocks(test, found.of_test), test.shape)


def _beyond_search(found: _Found) -> Floats:
    calibrator = ProCal()
    checked = check_labelled(found.calibration.logits, found.calibration.labels, "logits")
    calibrator._fit_with(*checked, found.among)
    return calibrator._calibrated(check_scores(found.test.logits, "logits"), found.of_test).probs


def _procal(samples: tuple[Samples, Samples]) -> Floats:
    calibration, test = samples
    calibrator = ProCal().fit(calibration.logits, calibration.labels, features=calibration.features)
    return calibrator.predict_proba(test.logits, features=test.features)


PROXIMITY = Stage(
    "proximity",
    "ten nearest references of each test sample, of unit-length features",
    _features,
    (Contestant("proxcal", _proximity, itself),),
    (
        Contestant("faiss IndexFlatL2", _by_faiss, itself, "faiss", "faiss-cpu"),
        Contestant("scikit-learn brute", _by_sklearn, itself, "sklearn", "scikit-learn"),
        Contestant("the bare product, NumPy", _products),
        Contestant("the bare product, torch", _products_by_torch, None, "torch", "torch"),
    ),
    ("n", "n_columns"),
)
VOTES = Stage("votes", "neighbour votes: fit and apply, neighbours given", _found, (Contestant("proxcal", _votes),))
BEYOND_SEARCH = Stage(
    "beyond-search", "ProCal: fit and apply, neighbours given", _found, (Contestant("proxcal", _beyond_search),)
)
PROCAL = Stage(
    "procal",
    "ProCal: fit and apply, both searches included",
    simulated,
    (Contestant("proxcal", _procal),),
    (),
    ("n", "n_columns", "n_classes"),
)
