"""Class-wise ECE: is the probability of each class right, not only that of the class predicted?

    classwise ECE = 1/C Σ_k Σ_b n_kb/n |share of label k in bin b - mean probability of k in it|

One ECE a class, over bins of equal width of the probability of that class, and their mean (Kull et al., 2019). Over
many classes nearly all probabilities are near 0, and so is this number: compare it between rows of as many classes.
"""

from dataclasses import dataclass
from typing import Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from proxcal._validation import Floats, check_integer, check_labels, check_scores, row_blocks
from proxcal.metrics.binning import equal_width


@dataclass(frozen=True, eq=False)
class ClasswiseError:
    """The mean over classes, and the error of each class."""

    value: float
    of_class: Floats


@overload
def classwise_ece(
    probs: ArrayLike, labels: ArrayLike, n_bins: int = 15, *, return_result: Literal[False] = False
) -> float: ...
@overload
def classwise_ece(
    probs: ArrayLike, labels: ArrayLike, n_bins: int = 15, *, return_result: Literal[True]
) -> ClasswiseError: ...
def classwise_ece(
    probs: ArrayLike, labels: ArrayLike, n_bins: int = 15, *, return_result: bool = False
) -> float | ClasswiseError:
    """The mean over classes of the expected calibration error of that class's probability."""
    n_bins = check_integer("n_bins", n_bins, at_least=1)
    rows = check_scores(probs, "probs")
    n, n_classes = rows.shape
    y = check_labels(labels, n, n_classes)
    excess = np.zeros(n_classes * n_bins)
    for block in row_blocks(n, n_classes):
        p = np.clip(rows[block].astype(np.float64), 0, 1)
        cells = equal_width(p, n_bins) + n_bins * np.arange(n_classes)
        p[np.arange(len(p)), y[block]] -= 1
        excess += np.bincount(cells.ravel(), weights=p.ravel(), minlength=len(excess))
    of_class = np.abs(excess).reshape(n_classes, n_bins).sum(axis=1) / n
    value = float(of_class.mean())
    return ClasswiseError(value, of_class) if return_result else value
