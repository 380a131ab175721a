"""How sure a bias index is: tests on the pairs, intervals, and p-values of many models at once.

McNemar's test looks only at the pairs of which one is right and one is wrong: without bias either is as likely the
right one, so the number of pairs with the high side right is Binomial(n, 1/2). The mid-p counts the number seen half.
"""

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom, false_discovery_control, mannwhitneyu

from proxcal._validation import Bools, Floats, Ints, check_choice, check_samples

Test = Literal["mcnemar", "ranksum"]
Interval = Callable[[Bools, Ints, Ints, int, np.random.Generator], tuple[float, float]]
Alternative = Literal["two-sided", "greater", "less"]
Correction = Literal["bonferroni", "benjamini-hochberg"]
ALTERNATIVES: tuple[Alternative, ...] = ("two-sided", "greater", "less")
CORRECTIONS: tuple[Correction, ...] = ("bonferroni", "benjamini-hochberg")
TAILS = (2.5, 97.5)  # per cent


def mcnemar(high: Bools, low: Bools, alternative: Alternative) -> float:
    """Mid-p of McNemar's exact test on pairs; "greater" is the alternative that the high side is right more often."""
    only_high, only_low = int(np.sum(high & ~low)), int(np.sum(low & ~high))
    greater, less = _mid_p_at_least(only_high, only_low), _mid_p_at_least(only_low, only_high)
    return {"two-sided": min(1.0, 2 * min(greater, less)), "greater": greater, "less": less}[alternative]


def _mid_p_at_least(n: int, n_other: int) -> float:
    return float(binom.sf(n, n + n_other, 0.5) + binom.pmf(n, n + n_other, 0.5) / 2)


def rank_sum(high: Bools, low: Bools, alternative: Alternative) -> float:
    """Wilcoxon's rank-sum test, normal approximation with ties; it takes the two sides for independent."""
    if np.all(high == high[0]) and np.all(low == high[0]):
        return 1.0
    return float(mannwhitneyu(high, low, alternative=alternative, method="asymptotic", use_continuity=False).pvalue)


TESTS: dict[Test, Callable[[Bools, Bools, Alternative], float]] = {"mcnemar": mcnemar, "ranksum": rank_sum}


def interval_of_pairs(
    correct: Bools, high: Ints, low: Ints, n_resamples: int, rng: np.random.Generator
) -> tuple[float, float]:
    """95 % bootstrap interval of the difference in accuracy between the samples `high` and `low`, over resampled pairs.

    Half a pair is added to each of the four outcomes, so that outcomes not seen in a few pairs are not held impossible.
    """
    outcomes = np.bincount(2 * correct[high] + correct[low], minlength=4) + 0.5
    n = len(high)
    _, only_low, only_high, _ = rng.multinomial(n, outcomes / outcomes.sum(), size=n_resamples).T
    return _percentiles((only_high - only_low) / n)


def interval_of_reused(
    correct: Bools, high: Ints, low: Ints, n_resamples: int, rng: np.random.Generator
) -> tuple[float, float]:
    """The same where samples are reused: what is resampled are the distinct samples of each side."""
    return _percentiles(
        _resampled_means(correct, high, n_resamples, rng) - _resampled_means(correct, low, n_resamples, rng)
    )


def _resampled_means(correct: Bools, samples: Ints, n_resamples: int, rng: np.random.Generator) -> Floats:
    distinct, uses = np.unique(samples, return_counts=True)
    kinds, n_of_kind = np.unique(np.stack([uses, correct[distinct]]), axis=1, return_counts=True)
    drawn = rng.multinomial(len(distinct), n_of_kind / len(distinct), size=n_resamples)
    means: Floats = (drawn @ (kinds[0] * kinds[1])) / (drawn @ kinds[0])
    return means


def _percentiles(values: Floats) -> tuple[float, float]:
    low, high = np.percentile(values, TAILS)
    return float(low), float(high)


def adjust_p_values(p_values: ArrayLike, method: Correction = "bonferroni") -> Floats:
    """p-values of many tests, made comparable with a level for all of them together.

    "bonferroni" bounds the chance of any false rejection, "benjamini-hochberg" the share of them among all rejections.
    """
    check_choice("method", method, CORRECTIONS)
    (p,) = check_samples(p_values=p_values)
    if p.min() < 0 or p.max() > 1:
        raise ValueError(f"p_values lies in [{p.min():.3g}, {p.max():.3g}]; it needs probabilities in [0, 1]")
    adjusted: Floats = np.minimum(p * len(p), 1) if method == "bonferroni" else false_discovery_control(p, method="bh")
    return adjusted
