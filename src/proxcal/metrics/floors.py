"""What a metric would show were the model calibrated: the part of its value that is chance alone.

A calibrated model is right with probability `confidence`, so its bins are off by sampling noise, and the more the fewer
samples a bin holds. For ECE, ACE and PIECE the bins do not depend on which predictions were right, so

    E[Σ_b n_b/n |acc_b - conf_b|] = 1/n Σ_b E|Σ_{i in b} Bernoulli(p_i) - p_i|

needs no simulation; nor do Brier score and log loss, whose expectations are the means of p (1 - p) and of the entropy.
MCE, and any other metric, is averaged over draws.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import entr

from proxcal._validation import Floats, check_integer, check_samples
from proxcal.metrics._deviation import expected_deviation
from proxcal.metrics.binned import BinnedError, ace, ece, piece
from proxcal.metrics.scores import brier, nll

Metric = Callable[..., Any]
_BINNED: tuple[Metric, ...] = (ece, ace, piece)
_EXPECTATIONS: dict[Metric, Callable[[Floats], Floats]] = {
    brier: lambda p: p * (1 - p),
    nll: lambda p: entr(p) + entr(1 - p),
}


def noise_floor(
    metric: Metric,
    confidence: ArrayLike,
    proximity: ArrayLike | None = None,
    *,
    n_draws: int = 200,
    random_state: int | np.random.Generator | None = 0,
    **metric_kwargs: Any,
) -> float:
    """The expectation of `metric(confidence, correct, [proximity,] **metric_kwargs)` for a calibrated confidence.

    Computed for ece, ace, piece, brier and nll; for any other metric the mean of `n_draws` draws.
    """
    n_draws = check_integer("n_draws", n_draws, at_least=1)
    (p,) = check_samples(confidence=confidence)
    if proximity is not None:
        metric_kwargs["proximity"] = proximity
    if metric in _BINNED:
        return _expected_error(metric, p, metric_kwargs)
    if metric in _EXPECTATIONS and not metric_kwargs:
        return float(_EXPECTATIONS[metric](p).mean())
    rng = np.random.default_rng(random_state)
    draws = (rng.random(len(p)) < p for _ in range(n_draws))
    return float(np.mean([metric(p, correct, **metric_kwargs) for correct in draws]))


def _expected_error(metric: Metric, confidence: Floats, metric_kwargs: dict[str, Any]) -> float:
    any_outcome = np.zeros(len(confidence), dtype=np.bool_)  # the bins are the same whichever predictions were right
    error: BinnedError = metric(confidence, any_outcome, **metric_kwargs, return_result=True)
    return float(expected_deviation(confidence, error.bins, error.count.size).sum() / len(confidence))
