"""Cumulative differences: calibration along proximity without any bins (Arrieta-Ibarra et al., 2022).

    C_k = 1/n Σ_{j ≤ k} (correct_j - confidence_j),    samples in order of proximity, C_0 = 0

Over any stretch of proximity the slope of C is accuracy - confidence there, so C falls where the model is overconfident
and is level where it is calibrated. For a calibrated model C √n / s, s² = mean p (1 - p), is a Brownian motion, and how
far it strays has a known distribution:

    Kuiper = max C - min C        Kolmogorov-Smirnov = max |C|

Kuiper's statistic is |accuracy - confidence| of the worst stretch, times the share of samples in it. Samples of equal
proximity are one step, so their order does not matter.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from proxcal._validation import Bools, Floats, ProxcalWarning, check_samples

_WHOLE = np.arange(1, 51)
_ODD = 2 * _WHOLE - 1
_SIGNS = np.where(_WHOLE % 2 == 1, 1, -1)
_TINY = 1e-100


@dataclass(frozen=True, eq=False)
class CumulativeDifference:
    """C after each step, from C_0 = 0, with the share of samples and the proximity up to there; both statistics, with
    their p-values were the model calibrated; `scale` is the standard deviation of C at its end."""

    share: Floats = field(repr=False)
    proximity: Floats = field(repr=False)
    difference: Floats = field(repr=False)
    scale: float
    kuiper: float
    kuiper_p_value: float
    kolmogorov_smirnov: float
    kolmogorov_smirnov_p_value: float


def cumulative_difference(confidence: ArrayLike, correct: ArrayLike, proximity: ArrayLike) -> CumulativeDifference:
    """Accuracy - confidence accumulated from the lowest proximity to the highest."""
    p, right, d = check_samples(confidence=confidence, correct=correct, proximity=proximity)
    if d.min() == d.max():
        warnings.warn(
            f"proximity is {d[0]:.6g} for all samples: where along it confidence is wrong cannot be concluded, only "
            "whether it is wrong overall",
            ProxcalWarning,
            stacklevel=2,
        )
    return _accumulate(p, right, d)


def _accumulate(confidence: Floats, correct: Bools, proximity: Floats) -> CumulativeDifference:
    n = len(confidence)
    order = np.argsort(proximity)
    ascending = proximity[order]
    last_of_equals = np.append(np.flatnonzero(np.diff(ascending)), n - 1)
    difference = np.concatenate(([0.0], np.cumsum(correct[order] - confidence[order])[last_of_equals] / n))
    scale = float(np.sqrt(np.sum(confidence * (1 - confidence)))) / n
    kuiper, farthest = float(np.ptp(difference)), float(np.abs(difference).max())
    return CumulativeDifference(
        share=np.concatenate(([0.0], (last_of_equals + 1) / n)),
        proximity=np.concatenate((ascending[:1], ascending[last_of_equals])),
        difference=difference,
        scale=scale,
        kuiper=kuiper,
        kuiper_p_value=_p_value(kuiper, scale, range_exceeds),
        kolmogorov_smirnov=farthest,
        kolmogorov_smirnov_p_value=_p_value(farthest, scale, maximum_exceeds),
    )


def _p_value(statistic: float, scale: float, strays_beyond: Callable[[float], float]) -> float:
    if scale == 0:  # certainty is refuted by a single mistake
        return float(statistic == 0)
    return strays_beyond(max(statistic / scale, _TINY))


def maximum_exceeds(x: float) -> float:
    """P(max |B| > x) over unit time: by reflection, or for small x by the eigenfunctions of the heat equation."""
    if x >= 1:
        return float(4 * np.sum(_SIGNS * ndtr(-_ODD * x)))
    return 1 - float(4 / np.pi * np.sum(_SIGNS / _ODD * _decay(2 * x)))


def range_exceeds(x: float) -> float:
    """P(max B - min B > x) over unit time (Feller, 1951), in the same two ways."""
    if x >= 1:
        return float(8 * np.sum(_SIGNS * _WHOLE * ndtr(-_WHOLE * x)))
    return 1 - float(8 * np.sum((1 / x**2 + 1 / (_ODD * np.pi) ** 2) * _decay(x)))


def _decay(x: float) -> Floats:
    decay: Floats = np.exp(-((_ODD * np.pi / x) ** 2) / 2)
    return decay
