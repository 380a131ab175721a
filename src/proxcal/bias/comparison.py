"""The bias index and its test: are samples of low proximity less often right than others of the same confidence?

    bias index = accuracy(B_H) - accuracy(B_L)

B_H and B_L are samples of the highest and of the lowest proximity group, matched by confidence. An index above 0 says
that where data is sparse the model is right less often than where it is dense, though its confidence is the same.
"""

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from proxcal._validation import (
    Bools,
    Floats,
    Ints,
    ProxcalWarning,
    check_choice,
    check_integer,
    check_number,
    check_samples,
)
from proxcal.bias.groups import split_by_proximity
from proxcal.bias.matching import MATCHINGS, Matching
from proxcal.bias.significance import (
    ALTERNATIVES,
    TESTS,
    Alternative,
    Interval,
    Test,
    interval_of_pairs,
    interval_of_reused,
)
from proxcal.metrics.binning import equal_width

DEFAULT_TESTS: dict[Matching, Test] = {"one-to-one": "mcnemar", "paper": "ranksum"}
INTERVALS: dict[Matching, Interval] = {"one-to-one": interval_of_pairs, "paper": interval_of_reused}
FALLBACK_GROUPS = 3
THIN_OVERLAP = 0.1
FEW_PAIRS = 30


@dataclass(frozen=True, eq=False)
class BiasTest:
    """The outcome of `bias_test`; "low" and "high" are the matched samples of low and of high proximity.

    `interval` is the 95 % bootstrap interval of `bias_index`; `adjusted_index` is the same difference in accuracy -
    confidence. `n_distinct_low` and `n_distinct_high` fall short of `n_pairs` where samples were reused. `overlap` is
    what the confidence distributions of the two groups have in common, from 0 to 1. `low` and `high` are the indices of
    the samples, pair by pair.
    """

    bias_index: float
    p_value: float
    interval: tuple[float, float]
    adjusted_index: float
    n_pairs: int
    n_distinct_low: int
    n_distinct_high: int
    accuracy_low: float
    accuracy_high: float
    confidence_low: float
    confidence_high: float
    overlap: float
    n_groups: int
    matching: Matching
    test: Test
    alternative: Alternative
    caliper: float
    low: Ints = field(repr=False)
    high: Ints = field(repr=False)


@dataclass(frozen=True, eq=False)
class _Matched:
    n_groups: int
    overlap: float
    low: Ints
    high: Ints

    @property
    def is_thin(self) -> bool:
        return self.overlap < THIN_OVERLAP or len(self.low) < FEW_PAIRS

    def __str__(self) -> str:
        return (
            f"confidence of the lowest and the highest of {self.n_groups} proximity groups overlaps by "
            f"{self.overlap:.0%} ({len(self.low)} pairs)"
        )


def bias_test(
    confidence: ArrayLike,
    correct: ArrayLike,
    proximity: ArrayLike,
    n_groups: int = 5,
    matching: Matching = "one-to-one",
    test: Test | None = None,
    caliper: float = 0.05,
    alternative: Alternative = "two-sided",
    *,
    n_resamples: int = 2000,
    random_state: int | np.random.Generator | None = 0,
) -> BiasTest:
    """Test whether the highest and the lowest proximity group are equally often right at equal confidence.

    `matching="one-to-one"` uses no sample twice; its `test` is "mcnemar" (mid-p) unless told otherwise.
    `matching="paper"` reuses samples; its `test` is "ranksum", which takes each reuse for new evidence and so rejects
    far too often. No pair is further apart in confidence than `caliper`; one-to-one asks for more near 0 and 1.
    `alternative="greater"` is that low proximity is right less often. Where confidence in the two groups hardly
    overlaps, 3 groups are compared instead, with a ProxcalWarning; where it does not overlap at all, that is an error.
    """
    matching = check_choice("matching", matching, tuple(MATCHINGS))
    chosen_test = check_choice("test", DEFAULT_TESTS[matching] if test is None else test, tuple(TESTS))
    alternative = check_choice("alternative", alternative, ALTERNATIVES)
    caliper = check_number("caliper", caliper, above=0, at_most=1)
    n_groups = check_integer("n_groups", n_groups, at_least=2)
    n_resamples = check_integer("n_resamples", n_resamples, at_least=1)
    p, right, d = check_samples(confidence=confidence, correct=correct, proximity=proximity, at_least=n_groups)
    rng = np.random.default_rng(random_state)

    matched = _match(p, d, n_groups, matching, caliper, rng)
    if matched.is_thin and n_groups > FALLBACK_GROUPS:
        warnings.warn(f"{matched}; comparing {FALLBACK_GROUPS} groups instead", ProxcalWarning, stacklevel=2)
        matched = _match(p, d, FALLBACK_GROUPS, matching, caliper, rng)
    _refuse_or_warn(matched, right)
    return BiasTest(
        **_describe(matched, p, right),
        p_value=TESTS[chosen_test](right[matched.high], right[matched.low], alternative),
        interval=INTERVALS[matching](right, matched.high, matched.low, n_resamples, rng),
        matching=matching,
        test=chosen_test,
        alternative=alternative,
        caliper=caliper,
    )


def _describe(matched: _Matched, confidence: Floats, correct: Bools) -> dict[str, Any]:
    low, high = matched.low, matched.high
    accuracy_low, accuracy_high = float(correct[low].mean()), float(correct[high].mean())
    confidence_low, confidence_high = float(confidence[low].mean()), float(confidence[high].mean())
    return {
        "bias_index": accuracy_high - accuracy_low,
        "adjusted_index": (accuracy_high - confidence_high) - (accuracy_low - confidence_low),
        "n_pairs": len(low),
        "n_distinct_low": len(np.unique(low)),
        "n_distinct_high": len(np.unique(high)),
        "accuracy_low": accuracy_low,
        "accuracy_high": accuracy_high,
        "confidence_low": confidence_low,
        "confidence_high": confidence_high,
        **vars(matched),
    }


def _match(
    confidence: Floats, proximity: Floats, n_groups: int, matching: Matching, caliper: float, rng: np.random.Generator
) -> _Matched:
    groups = split_by_proximity(proximity, n_groups)
    lowest, highest = np.flatnonzero(groups == 0), np.flatnonzero(groups == n_groups - 1)
    low, high = MATCHINGS[matching](confidence[lowest], confidence[highest], caliper, rng)
    return _Matched(n_groups, _overlap(confidence[lowest], confidence[highest]), lowest[low], highest[high])


def _overlap(a: Floats, b: Floats, n_bins: int = 20) -> float:
    shares = [np.bincount(equal_width(side, n_bins), minlength=n_bins) / len(side) for side in (a, b)]
    return float(np.minimum(*shares).sum())


def _refuse_or_warn(matched: _Matched, correct: Bools) -> None:
    if not len(matched.low):
        raise ValueError(f"{matched}: whether they are equally often right at equal confidence cannot be concluded")
    if matched.is_thin:
        warnings.warn(f"{matched}: only a large bias can be told from chance", ProxcalWarning, stacklevel=3)
    outcomes = correct[np.concatenate([matched.low, matched.high])]
    if np.all(outcomes == outcomes[0]):
        warnings.warn(
            f"correct is {outcomes[0]} for every sample compared: whether one group is right less often cannot be "
            "concluded, and the p-value of 1 says no more",
            ProxcalWarning,
            stacklevel=3,
        )
