"""A fitted calibrator on a Ray dataset: rows stream through actors, each of which loaded the calibrator once.

What is said of a row does not depend on the rows beside it, so batches, actors and retries do not show in the result.
"""

import os
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from proxcal._extras import require
from proxcal._files import check_readable
from proxcal._ray import connect
from proxcal._validation import Array, check_integer
from proxcal.procal import ProCal

Batch = dict[str, Array]
_USE = "apply_dataset"


def apply_dataset(
    dataset: Any,
    calibrator: ProCal | str | os.PathLike[str],
    *,
    scores: str | None = None,
    features: str = "features",
    probs: str | None = None,
    batch_size: int = 4096,
    actors: int | tuple[int, int] | None = None,
    **options: Any,
) -> Any:
    """The dataset with columns `predicted`, `confidence` and `proximity` (where neighbours are sought) beside its own,
    the rows in whatever order Ray gives them. Nothing is computed until the dataset is asked for.

    After `ProCal.fit_confidence`, `scores` is a column of confidences, and `confidence` is all that is added.

    Parameters
    ----------
    calibrator : fitted, or the path of one saved, which every machine must see.
    scores, features : the columns that hold them, tensors or lists; scores are the calibrator's `input`, "logits" or
        "probs", unless told.
    probs : the column that calibrated rows go into; none unless told.
    batch_size : rows at a time; an actor holds a batch, and the calibrator's references.
    actors : so many, or from one number to another as the work asks; left to Ray unless told.
    options : of `Dataset.map_batches` for each actor: `num_cpus`, which is also the number of its threads, `num_gpus`,
        `memory`, ...
    """
    ray, data = connect(_USE), require("ray.data", "ray", _USE)
    if isinstance(calibrator, ProCal):
        check_is_fitted(calibrator)
        source = ray.put(calibrator)
    else:
        source = str(check_readable(os.path.abspath(calibrator)))
    return dataset.map_batches(
        _Apply,
        fn_constructor_args=(source, scores, features, probs),
        batch_size=check_integer("batch_size", batch_size, at_least=1),
        batch_format="numpy",
        compute=_pool(data, actors),
        **({"num_cpus": 1} | options),
    )


def _pool(data: Any, actors: int | tuple[int, int] | None) -> Any:
    if actors is None:
        return data.ActorPoolStrategy()
    if isinstance(actors, tuple):
        least, most = (check_integer("actors", number, at_least=1) for number in actors)
        return data.ActorPoolStrategy(min_size=least, max_size=most)
    return data.ActorPoolStrategy(size=check_integer("actors", actors, at_least=1))


class _Apply:
    """What an actor does with a batch; it gets the calibrator from the object store or from a file."""

    def __init__(self, source: Any, scores: str | None, features: str, probs: str | None) -> None:
        self._calibrator = ProCal.load(source) if isinstance(source, str) else connect(_USE).get(source)
        self._scores, self._features, self._probs = scores or self._calibrator.input, features, probs

    def __call__(self, batch: Batch) -> Batch:
        given = _column(batch, self._scores), self._features_of(batch)
        added = self._bare(*given) if self._calibrator.asked_for_ is not None else self._of_rows(*given)
        for name in added:
            if name in batch:
                raise ValueError(f"dataset has a column {name!r}, which would be lost; rename it first")
        return batch | added

    def _bare(self, confidence: Array, features: Array | None) -> Batch:
        return {"confidence": self._calibrator.confidence(confidence, features)}

    def _of_rows(self, scores: Array, features: Array | None) -> Batch:
        found = self._calibrator.calibrate(scores, features)
        added: Batch = {"predicted": found.predicted, "confidence": found.confidence}
        if found.log_proximity is not None:
            added["proximity"] = np.exp(found.log_proximity)
        if self._probs is not None:
            added[self._probs] = found.probs
        return added

    def _features_of(self, batch: Batch) -> Array | None:
        if not hasattr(self._calibrator, "proximity_"):
            return None
        return _column(batch, self._features)


def _column(batch: Batch, name: str) -> Array:
    """An array of what the column holds; of lists, which come as objects, a matrix."""
    if name not in batch:
        raise ValueError(f"dataset has no column {name!r}; it has {', '.join(batch)}")
    column = np.asarray(batch[name])
    if column.dtype != object:
        return column
    try:
        return np.stack([np.asarray(row) for row in column])
    except ValueError as error:
        raise ValueError(f"dataset has rows of several lengths in column {name!r} ({error})") from None
