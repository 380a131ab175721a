"""How sure an accuracy is: Wilson's score interval, which stays in [0, 1] and holds for a handful of samples too.

(a + z²/2n ± z √(a (1 - a)/n + z²/4n²)) / (1 + z²/n)        a of n right, z the normal quantile
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from proxcal._validation import Floats


def wilson_interval(accuracy: ArrayLike, count: ArrayLike, level: float = 0.95) -> tuple[Floats, Floats]:
    """Lower and upper end of the interval for each accuracy over `count` ≥ 1 samples."""
    a, n = np.asarray(accuracy, dtype=np.float64), np.asarray(count)
    z = ndtri((1 + level) / 2)
    centre = a + z**2 / (2 * n)
    half_width = z * np.sqrt(a * (1 - a) / n + (z / (2 * n)) ** 2)
    low, high = ((centre + side) / (1 + z**2 / n) for side in (-half_width, half_width))
    return np.clip(low, 0, a), np.clip(high, a, 1)
