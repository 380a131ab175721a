"""The numbers of the table, and how far chance moves the difference between two methods on one test set.

The bootstrap draws the test samples anew, the same for both methods. The bins stay those of the samples as they were,
so a replicate of every binned error is a sum over bins of resampled residuals, and all replicates are one sparse
product. PIECE − floor moves as PIECE does: its floor, an expectation, is taken as fixed.
"""

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array, vstack

from proxcal._validation import Floats, row_blocks
from proxcal.experiments.split import Outcome, Pair
from proxcal.metrics import BinnedError, ace, brier, ece, mce, nll, noise_floor, piece

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
    base, ours = _terms(pair.base), _terms(pair.ours)
    terms = vstack([*base, *ours], format="csr")
    starts = np.cumsum([term.shape[0] for term in (*base, *ours)])[:-1]
    differences = {metric: np.empty(n_replicates) for metric in METRICS}
    for block in row_blocks(n_replicates, n):
        sums = np.split(terms @ _draw(rng, block.stop - block.start, n), starts)
        before, after = (_from_sums(half, n, weighted_mce) for half in (sums[: len(base)], sums[len(base) :]))
        for metric in METRICS:
            differences[metric][block] = after[metric] - before[metric]
    return differences


def _draw(rng: np.random.Generator, n_replicates: int, n: int) -> Floats:
    """How often each sample is drawn, a column a replicate."""
    drawn = rng.integers(n, size=(n_replicates, n)) * n_replicates + np.arange(n_replicates)[:, None]
    return np.bincount(drawn.ravel(), minlength=n_replicates * n).reshape(n, n_replicates).astype(np.float64)


def _terms(outcome: Outcome) -> list[csr_array]:
    """What is summed over the samples drawn: residuals by each metric's bins, the bins' sizes, and losses."""
    confidence, correct = outcome.confidence, outcome.correct
    residual, one = correct - confidence, np.ones(len(correct))
    widths = ece(confidence, correct, return_result=True)
    counts = ace(confidence, correct, return_result=True)
    cells = piece(confidence, correct, outcome.log_proximity, return_result=True)
    losses = np.stack(
        [
            nll(confidence, correct, return_result=True).losses,
            brier(confidence, correct, return_result=True).losses,
            correct,
            outcome.row_losses,
        ]
    )
    by_bins = ((residual, widths), (one, widths), (residual, counts), (residual, cells))
    return [*(_by_bin(values, error) for values, error in by_bins), csr_array(losses)]


def _by_bin(values: Floats, error: BinnedError) -> csr_array:
    place = error.bins, np.arange(len(values))
    return csr_array((values, place), shape=(error.count.size, len(values)))


def _from_sums(sums: Sequence[Floats], n: int, weighted_mce: bool) -> dict[str, Floats]:
    of_widths, sizes, of_counts, of_cells, losses = sums
    gaps = np.abs(of_widths)
    error = np.abs(of_cells).sum(axis=0) / n
    mean_nll, mean_brier, accuracy, mean_row_loss = losses / n
    return {
        "ece": gaps.sum(axis=0) / n,
        "ace": np.abs(of_counts).sum(axis=0) / n,
        "mce": (gaps / (n if weighted_mce else np.maximum(sizes, 1))).max(axis=0),
        "piece": error,
        "piece_minus_floor": error,
        "nll": mean_nll,
        "brier": mean_brier,
        "accuracy": accuracy,
        "multiclass_nll": mean_row_loss,
    }
