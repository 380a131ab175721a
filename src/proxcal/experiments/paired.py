"""Is a difference between two methods more than chance? Two paired tests, two-sided.

Over random splits of the same data the differences are not independent: each test half shares half its samples with
every other. A plain paired t-test takes them as if they were, and over five half splits calls two in five null
differences significant at 0.1. Nadeau and Bengio (2003) put the overlap into the variance,

    t = mean / (sd √(1/J + n_test/n_calibration)),    J − 1 degrees of freedom,

which keeps the level. On one split, the share of bootstrap replicates that lie as far from their centre as the
difference lies from 0.
"""

import numpy as np
from scipy.special import stdtr

from proxcal._validation import Floats


def over_splits(differences: Floats, test_per_calibration: float) -> float:
    """p-value of the mean of two or more splits' differences being 0."""
    n_splits = len(differences)
    mean = float(differences.mean())
    if mean == 0:
        return 1.0
    spread = float(differences.std(ddof=1)) * np.sqrt(1 / n_splits + test_per_calibration)
    return float(2 * stdtr(n_splits - 1, -abs(mean) / spread)) if spread > 0 else 0.0


def over_replicates(difference: float, replicates: Floats) -> float:
    """p-value of one split's difference being 0, given how it varies in the bootstrap."""
    as_far = np.abs(replicates - replicates.mean()) >= abs(difference)
    return float((1 + as_far.sum()) / (1 + len(replicates)))
