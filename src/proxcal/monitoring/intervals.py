"""How far the figures of a window stray by chance alone: intervals that hold for any number of samples.

No drift means that the n samples of the window and the m that show what is normal are drawn alike, independently.
Whatever the distribution of proximity then is,

    the mean percentile of the window among the m  has mean ½ and variance (n + m + 1) / (12 n m)     (Mann-Whitney)
    how many lie below the k-th smallest of the m  is beta-binomial (n; k, m + 1 − k)

The second is exact, the first's tails are lighter than the normal's that are taken. And where each confidence c is off
by no more than a tolerance τ,

    how many of the window are right               lies between Poisson-binomials of the c − τ and of the c + τ

A monitor looks again and again. The t-th look may err with probability α / (t (t + 1)), which adds up to α over all
looks there will ever be, so the intervals widen (as the square root of log t) and α bounds the chance that there is
ever a false alarm, however the windows overlap.
"""

from functools import reduce

import numpy as np
from scipy.special import ndtri
from scipy.stats import betabinom

from proxcal._validation import Floats

Interval = tuple[float, float]


def spent(alpha: float, look: int) -> float:
    """What the look, from 1, may spend of α."""
    return alpha / (look * (look + 1))


def percentile_interval(n: int, m: int, alpha: float) -> Interval:
    half_width = -float(ndtri(alpha / 2)) * np.sqrt((n + m + 1) / (12 * n * m))
    return max(0.0, 0.5 - half_width), min(1.0, 0.5 + half_width)


def share_below_interval(n: int, m: int, k: int, alpha: float) -> Interval:
    """For the share of n that lies below the k-th smallest of m."""
    chances = betabinom.pmf(np.arange(n + 1), n, k, m + 1 - k)
    return _least(chances, alpha / 2) / n, _most(chances, alpha / 2) / n


def gap_interval(confidence: Floats, tolerance: float, alpha: float) -> Interval:
    """For accuracy − mean confidence."""
    n, sure = len(confidence), confidence.sum()
    least = _least(poisson_binomial(np.maximum(confidence - tolerance, 0)), alpha / 2)
    most = _most(poisson_binomial(np.minimum(confidence + tolerance, 1)), alpha / 2)
    return float((least - sure) / n), float((most - sure) / n)


def poisson_binomial(chances: Floats) -> Floats:
    """The probability of each number of successes, 0 to n, in independent trials: one trial joins after another in a
    tree, by sums of positive terms, so that the tails are as exact as the middle."""
    parts = [np.array([1 - chance, chance]) for chance in chances]
    while len(parts) > 1:
        parts = [reduce(np.convolve, parts[i : i + 2]) for i in range(0, len(parts), 2)]
    return parts[0]


def _least(chances: Floats, alpha: float) -> int:
    """The number below which less than α lies."""
    return int(np.argmax(np.cumsum(chances) > alpha))


def _most(chances: Floats, alpha: float) -> int:
    """The number above which less than α lies."""
    return len(chances) - 1 - _least(chances[::-1], alpha)
