"""Density-Ratio in the paper's coordinates: statsmodels, which the paper used, against this package's two evaluations.

Run it with `OMP_NUM_THREADS=1 python benchmarks/_density_ratio.py`: statsmodels works on one core.
"""

import time
import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from statsmodels.nonparametric.kernel_density import KDEMultivariate

from proxcal import DensityRatio

Floats = NDArray[np.float64]
Samples = tuple[Floats, Floats, NDArray[np.bool_]]
REPEATS = 5


def compare(n: int = 25_000) -> dict[str, float]:
    """Seconds to fit on n samples and to predict n others, ratios to statsmodels' time, and errors of the results.

    Fast ones are the best of a few runs, each of which fits anew. The default (normal coordinates, the confidence as
    prior) has no counterpart in statsmodels; its time is compared with the paper's ratio there, its error with its own
    exact evaluation. An error is over all points; those whose densities are both negligible are evaluated exactly
    by the grid too.
    """
    samples, (confidence, proximity, _) = draw(n, 0), draw(n, 1)
    points = confidence, proximity
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        reference, theirs = timed(lambda: by_statsmodels(samples, points), 1)
    exact, exact_seconds = timed(lambda: ours(samples, points, coordinates="paper", evaluation="exact"), REPEATS)
    grid, grid_seconds = timed(lambda: ours(samples, points, coordinates="paper"), REPEATS)
    default, default_seconds = timed(lambda: ours(samples, points), REPEATS)
    return {
        "n": n,
        "statsmodels_seconds": theirs,
        "exact_seconds": exact_seconds,
        "grid_seconds": grid_seconds,
        "default_seconds": default_seconds,
        "exact_ratio": theirs / exact_seconds,
        "grid_ratio": theirs / grid_seconds,
        "default_ratio": theirs / default_seconds,
        "exact_error": largest_difference(exact, reference),
        "grid_error": largest_difference(grid, exact),
        "default_error": largest_difference(default, ours(samples, points, evaluation="exact")),
    }


def draw(n: int, seed: int) -> Samples:
    """Accuracy 3/4, overconfident where proximity is low, a twentieth of the confidences exactly 1."""
    rng = np.random.default_rng(seed)
    proximity = rng.beta(4, 6, n)
    odds = rng.normal(1.5, 1.5, n)
    confidence = np.where(rng.random(n) < 0.05, 1.0, np.maximum(expit(odds), 0.05))
    return confidence, proximity, rng.random(n) < expit(odds + 4 * (proximity - 0.4))


def by_statsmodels(samples: Samples, points: tuple[Floats, Floats]) -> Floats:
    confidence, proximity, correct = samples
    columns = np.column_stack([confidence, proximity])
    right, wrong = (
        KDEMultivariate(columns[side], "cc", "normal_reference").pdf(np.column_stack(points))
        for side in (correct, ~correct)
    )
    return right / (right + np.sum(~correct) / np.sum(correct) * wrong)


def ours(samples: Samples, points: tuple[Floats, Floats], **options: str) -> Floats:
    return DensityRatio(**options).fit(*samples).predict(*points)


def timed(work: Callable[[], Floats], repeats: int) -> tuple[Floats, float]:
    """What it gives, and the least seconds it took."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - start)
    return result, min(seconds)


def largest_difference(one: Floats, other: Floats) -> float:
    return float(np.abs(one - other).max())


if __name__ == "__main__":
    for name, value in compare().items():
        print(f"{name:20} {value:.3g}")
