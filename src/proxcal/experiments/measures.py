"""The numbers of the table, and how far chance moves the difference between two methods on one test set.

The bootstrap draws the test samples anew, the same for both methods. The bins stay those of the samples as they were,
so a replicate of every binned error is a sum over bins of resampled residuals, and all replicates are one sparse
product. PIECE − floor moves as PIECE does: its floor, an expectation, is taken as fixed.
"""

from collections.abc import Callable

import numpy as np
from scipy.sparse import coo_array

from proxcal._validation import Floats, Ints, row_blocks
from proxcal.experiments.split import Outcome, Pair
from proxcal.metrics import ace, brier, ece, mce, nll, noise_floor, piece

METRICS = ("ece", "ace", "mce", "piece", "piece_minus_floor", "nll", "brier", "accuracy", "multiclass_nll")
LARGER_IS_BETTER = ("accuracy",)
N_REPLICATES = 1000


def measure(outcome: Outcome, *, weighted_mce: bool) -> dict[str, float]:
    confidence, correct, proximity = outcome.confidence, outcome.correct, outcome.log_proximity
    error = piece(confidence, correct, proximity)
    return {
        "ece": ece(confidence, correct),
        "ace": ace(confidence, correct),
        "mce": mce(confidence, correct, weighted=weighted_mce),
        "piece": error,
        "piece_minus_floor": error - noise_floor(piece, confidence, proximity),
        "nll": nll(confidence, correct),
        "brier": brier(confidence, correct),
        "accuracy": float(correct.mean()),
        "multiclass_nll": float(outcome.row_losses.mean()),
    }


def bootstrap_differences(
    pair: Pair, *, weighted_mce: bool, random_state: int, n_replicates: int = N_REPLICATES
) -> dict[str, Floats]:
    """ours − base of each metric in each replicate."""
    rng = np.random.default_rng(random_state)
    n = len(pair.base.correct)
    base, ours = (_replicator(outcome, weighted_mce) for outcome in (pair.base, pair.ours))
    differences = {metric: np.empty(n_replicates) for metric in METRICS}
    for block in row_blocks(n_replicates, n):
        draws = _draw(rng, block.stop - block.start, n)
        before, after = base(draws), ours(draws)
        for metric in METRICS:
            differences[metric][block] = after[metric] - before[metric]
    return differences


def _draw(rng: np.random.Generator, n_replicates: int, n: int) -> Floats:
    """How often each sample is drawn, a row a replicate."""
    drawn = rng.integers(n, size=(n_replicates, n)) + n * np.arange(n_replicates)[:, None]
    return np.bincount(drawn.ravel(), minlength=n_replicates * n).reshape(n_replicates, n).astype(np.float64)


def _replicator(outcome: Outcome, weighted_mce: bool) -> Callable[[Floats], dict[str, Floats]]:
    """A function from draws to the outcome's metrics in each."""
    confidence, correct = outcome.confidence, outcome.correct
    residual = correct - confidence
    widths = ece(confidence, correct, return_result=True)
    counts = ace(confidence, correct, return_result=True)
    cells = piece(confidence, correct, outcome.log_proximity, return_result=True)
    losses = (
        nll(confidence, correct, return_result=True).losses,
        brier(confidence, correct, return_result=True).losses,
        correct.astype(np.float64),
        outcome.row_losses,
    )

    def replicate(draws: Floats) -> dict[str, Floats]:
        n = draws.shape[1]
        gaps = np.abs(_sums(residual, widths.bins, widths.count.size, draws))
        sizes = n if weighted_mce else np.maximum(_sums(np.ones(n), widths.bins, widths.count.size, draws), 1)
        piece_ = np.abs(_sums(residual, cells.bins, cells.count.size, draws)).sum(axis=0) / n
        nll_, brier_, accuracy, multiclass_nll = np.stack(losses) @ draws.T / n
        return {
            "ece": gaps.sum(axis=0) / n,
            "ace": np.abs(_sums(residual, counts.bins, counts.count.size, draws)).sum(axis=0) / n,
            "mce": (gaps / sizes).max(axis=0),
            "piece": piece_,
            "piece_minus_floor": piece_,
            "nll": nll_,
            "brier": brier_,
            "accuracy": accuracy,
            "multiclass_nll": multiclass_nll,
        }

    return replicate


def _sums(values: Floats, bins: Ints, n_bins: int, draws: Floats) -> Floats:
    """For each bin and replicate, Σ of the values drawn into it."""
    members = coo_array((values, (bins, np.arange(len(bins)))), shape=(n_bins, len(bins))).tocsr()
    sums: Floats = members @ draws.T
    return sums
