"""More references for a search and a base already fitted: what was learned stays, what is found among them grows.

Nothing given is changed, so whoever asks may still refuse. What the base says of the further references is what it
would have said of them as calibration samples: with neighbours among all references, none being its own.
"""

from copy import copy

import numpy as np

from proxcal._validation import Array, Ints
from proxcal.base._calibrator import BaseCalibrator
from proxcal.base._top import Top
from proxcal.proximity import Proximity


def grown(
    search: Proximity, base: BaseCalibrator, features: Array, labels: Ints, scores: Array, asked_for: int | None = None
) -> tuple[Proximity, BaseCalibrator, Top]:
    """The search and the base with checked samples as further references, and what the base says of these."""
    whole, remembering = search.extended(features), copy(base)
    remembering.remember(scores, labels)
    neighbors = None
    if base.n_searched:
        n = len(whole.references_)
        own = np.arange(n - len(labels), n)
        neighbors = whole.neighbors(features, min(base.n_searched, n - 1) + 1).without(own)
    return whole, remembering, Top.of(remembering.blocks(scores, neighbors), len(labels), asked_for)
