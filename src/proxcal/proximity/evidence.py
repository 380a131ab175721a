"""What is known of a sample beside how far its neighbours are: from the neighbours found, and of the class predicted.

For the k nearest references, k in `sizes`: how many carry the sample's predicted class as their label; how many were
predicted as it; and how right the model was on them. Shares enter as log-odds with half a count added on either side,
so that 10 of 10 is strong evidence and not infinite.

Of all references: whether the class is predicted more often than it is the label,

    log (1 + references labelled c) / (1 + references predicted as c)

for a class that the model favours is wrong too often everywhere, also where neighbours are few.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from proxcal._validation import Bools, Floats, Ints, check_labels, check_length, check_samples
from proxcal.proximity.references import Neighbors

SIZES = (10, 50)
_ANY_CLASS = int(np.iinfo(np.intp).max)
_PARTS = 10  # of the references: a reference's own part says nothing of its class


def evidence(
    neighbors: Neighbors,
    predicted: ArrayLike,
    labels: ArrayLike,
    predictions: ArrayLike,
    confidence: ArrayLike,
    *,
    own: ArrayLike | None = None,
    sizes: Sequence[int] = SIZES,
) -> Floats:
    """Evidence columns, (n, 3 · len(sizes) + 1): label agreement, prediction agreement and mean residual for each size,
    then how common the predicted class is among labels beside predictions.

    `predicted` holds the samples' own predicted classes; `labels`, `predictions` and `confidence` are the references'.
    Of samples that are references themselves, `own` says which (−1: none). A size beyond the neighbours found means all
    of them.
    """
    n, k = neighbors.indices.shape
    (p,) = check_samples(confidence=confidence)
    y = check_labels(labels, len(p), _ANY_CLASS)
    y_hat = check_labels(predictions, len(p), _ANY_CLASS, name="predictions")
    classes = check_labels(predicted, n, _ANY_CLASS, name="predicted")
    same_label, same_prediction = y[neighbors.indices] == classes[:, None], y_hat[neighbors.indices] == classes[:, None]
    residual = ((y == y_hat) - p)[neighbors.indices]
    columns = []
    for size in (min(size, k) for size in sizes):
        columns.append(_log_odds(same_label[:, :size]))
        columns.append(_log_odds(same_prediction[:, :size]))
        columns.append(residual[:, :size].mean(axis=1))
    n_classes = 1 + max(int(values.max()) for values in (y, y_hat, classes))
    if own is None:
        columns.append(log_shares(y, y_hat, n_classes)[classes])
    else:
        counts = (_counts_without_part(of, n_classes) for of in (y, y_hat))
        columns.append(_log_ratio(*counts)[_parts(np.asarray(own), n), classes])
    return np.column_stack(columns)


def log_shares(labels: Ints, predictions: Ints, n_classes: int) -> Floats:
    """How common each class is among the references' labels beside their predictions."""
    return _log_ratio(*(np.bincount(of, minlength=n_classes) for of in (labels, predictions)))


def _log_ratio(labelled: Ints, predicted: Ints) -> Floats:
    ratio: Floats = np.log((1 + labelled) / (1 + predicted))
    return ratio


def _log_odds(agree: Bools) -> Floats:
    count: Ints = agree.sum(axis=1)
    odds: Floats = np.log((count + 0.5) / (agree.shape[1] - count + 0.5))
    return odds


def _parts(own: Ints, n_samples: int) -> Ints:
    """The part of the references that each sample is in; the number behind the last where it is none of them.

    Were a reference only to leave out itself, what is said of its class would fall with its own outcome, which a fit
    could then read off.
    """
    check_length("own", len(own), n_samples)
    part: Ints = np.where(own < 0, _PARTS, own % _PARTS)
    return part


def _counts_without_part(classes: Ints, n_classes: int) -> Ints:
    """(parts + 1, classes): the references of each class without those of each part, and of all of them."""
    part = np.arange(len(classes)) % _PARTS
    of_part = np.bincount(part * n_classes + classes, minlength=_PARTS * n_classes).reshape(_PARTS, n_classes)
    total = of_part.sum(axis=0)
    without: Ints = np.concatenate([total - of_part, total[None]])
    return without
