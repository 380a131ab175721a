"""What the neighbours found say of a sample, beside how far they are.

For the k nearest references, k in `sizes`: how many carry the sample's predicted class as their label; how many were
predicted as it; and how right the model was on them. Shares enter as log-odds with half a count added on either side,
so that 10 of 10 is strong evidence and not infinite.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from proxcal._validation import Bools, Floats, Ints, check_labels, check_samples
from proxcal.proximity.references import Neighbors

SIZES = (10, 50)
_ANY_CLASS = int(np.iinfo(np.intp).max)


def evidence(
    neighbors: Neighbors,
    predicted: ArrayLike,
    labels: ArrayLike,
    predictions: ArrayLike,
    confidence: ArrayLike,
    *,
    sizes: Sequence[int] = SIZES,
) -> Floats:
    """Evidence columns, (n, 3 · len(sizes)): label agreement, prediction agreement and mean residual for each size.

    `predicted` holds the samples' own predicted classes; `labels`, `predictions` and `confidence` are the references'.
    A size beyond the neighbours found means all of them.
    """
    n, k = neighbors.indices.shape
    (p,) = check_samples(confidence=confidence)
    y = check_labels(labels, len(p), _ANY_CLASS)
    y_hat = check_labels(predictions, len(p), _ANY_CLASS, name="predictions")
    own = check_labels(predicted, n, _ANY_CLASS, name="predicted")[:, None]
    same_label, same_prediction = y[neighbors.indices] == own, y_hat[neighbors.indices] == own
    residual = ((y == y_hat) - p)[neighbors.indices]
    columns = []
    for size in (min(size, k) for size in sizes):
        columns.append(_log_odds(same_label[:, :size]))
        columns.append(_log_odds(same_prediction[:, :size]))
        columns.append(residual[:, :size].mean(axis=1))
    return np.column_stack(columns)


def _log_odds(agree: Bools) -> Floats:
    count: Ints = agree.sum(axis=1)
    odds: Floats = np.log((count + 0.5) / (agree.shape[1] - count + 0.5))
    return odds
