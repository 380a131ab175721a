"""Which samples of low proximity are compared with which of high proximity: pairs of nearly equal confidence.

The question is whether, at the same confidence, the one is less often right than the other. Confidence follows
proximity, so many samples have no counterpart, and a matching that stretches for more pairs (the most that a caliper
allows, say) makes the high side the more confident in nearly all of them: that alone looks like bias. So
`closest_pairs` uses no sample twice and chooses the pairs that

    maximise Σ (caliper - |φ(high) - φ(low)|),    φ(c) = arcsin √c

close pairs, and more of them only where this does not push the others apart by more than it is worth; what difference
is left averages out. φ makes the error of a share the same at every confidence, so that a difference weighs as much
near 1, where confidences crowd, as at 0.5. It is never less than the difference in confidence itself.

`paper_pairs` is the paper's way: nearest neighbours in confidence, samples reused.
"""

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Literal

import numpy as np

from proxcal._validation import Floats, Ints
from proxcal.metrics.binning import stable_argsort

PAPER_DRAWS = 10_000

Matching = Literal["one-to-one", "paper"]
Pairs = tuple[Ints, Ints]  # positions in the low group and, beside each, in the high group


def closest_pairs(low: Floats, high: Floats, caliper: float, rng: np.random.Generator) -> Pairs:
    """The one-to-one pairs that maximise Σ (caliper - |Δφ|), by one sweep in O(n log n).

    The sweep goes up through both groups at once. Each sample passed leaves the other side an offer: to be its partner
    in place of what came of it so far (nothing, which to end is worth `caliper`, or a partner, who goes free). Taken at
    φ, an offer changes the sum by -(price + φ), and is taken if that is a gain. `swap` is the sample that then becomes
    matched or free.
    """
    phi = np.arcsin(np.sqrt(np.concatenate([low, high])))
    order = _ascending(phi, rng)
    matched = np.zeros(len(phi), dtype=np.bool_)  # in ascending order, as is `swap`: ties are left to chance
    offers: tuple[list[tuple[float, int]], list[tuple[float, int]]] = ([], [])
    for sample, (of_high, here) in enumerate(zip((order >= len(low)).tolist(), phi[order].tolist(), strict=True)):
        theirs, own = offers[not of_high], offers[of_high]
        change, swap = 0.0, sample
        if theirs and theirs[0][0] + here < 0:
            price, swap = heappop(theirs)
            change = price + here
            matched[swap] = not matched[swap]
            matched[sample] = True
        heappush(own, (-here - caliper - change, swap))
    paired = order[matched]
    return paired[paired < len(low)], paired[paired >= len(low)] - len(low)


def paper_pairs(low: Floats, high: Floats, caliper: float, rng: np.random.Generator) -> Pairs:
    """Up to 10 000 samples drawn from each side, each with its nearest on the other, where that is within `caliper`."""
    drawn_low, drawn_high = (rng.choice(len(side), min(PAPER_DRAWS, len(side)), replace=False) for side in (low, high))
    pairs_low = np.concatenate([drawn_low, _nearest(low, high[drawn_high])])
    pairs_high = np.concatenate([_nearest(high, low[drawn_low]), drawn_high])
    close = np.abs(low[pairs_low] - high[pairs_high]) <= caliper
    return pairs_low[close], pairs_high[close]


def _nearest(values: Floats, targets: Floats) -> Ints:
    """For each target the position of the value nearest to it."""
    order = stable_argsort(values)
    ascending = values[order]
    above = np.searchsorted(ascending, targets).clip(0, len(values) - 1)
    below = (above - 1).clip(0)
    return order[np.where(targets - ascending[below] <= ascending[above] - targets, below, above)]


def _ascending(values: Floats, rng: np.random.Generator) -> Ints:
    """argsort with ties in random order, so that nothing depends on the order of arrival."""
    shuffled = rng.permutation(len(values))
    return shuffled[stable_argsort(values[shuffled])]


MATCHINGS: dict[Matching, Callable[[Floats, Floats, float, np.random.Generator], Pairs]] = {
    "one-to-one": closest_pairs,
    "paper": paper_pairs,
}
