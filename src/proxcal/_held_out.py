"""What is known of a gain measured on held-out folds: how the folds are made, how far its mean can be off, and how much
of it is believed; and the simplest of several methods that is not clearly worse than the best."""

import numpy as np

from proxcal._validation import Floats, Ints

N_FOLDS = 10


def assign_folds(n_samples: int, random_state: int, n_folds: int = N_FOLDS) -> Ints:
    """A fold number for each sample, sizes within one of each other; with fewer samples than folds, each is a fold of
    its own."""
    folds = np.arange(n_samples) % min(n_folds, n_samples)
    return np.random.default_rng(random_state).permutation(folds)


def believed_share(gain: Floats, gate: float) -> float:
    """(G − gate · S) / G of the mean gain G and its standard error S, and 0 where that is negative."""
    mean = float(gain.mean())
    return max(0.0, 1 - gate * standard_error(gain) / mean) if mean > 0 else 0.0


def standard_error(gain: Floats, n_folds: int = N_FOLDS) -> float:
    """Of a mean of held-out gains; infinite for a single one, which says nothing of its spread.

    The folds' training sets overlap, so the gains are not independent: σ²/n becomes σ²(1/n + test size / (training
    size · fold size)) (Nadeau and Bengio 2003), a factor of 1.45 for ten folds.
    """
    if len(gain) < 2:
        return np.inf
    n_folds = min(n_folds, len(gain))
    return float(gain.std(ddof=1) / np.sqrt(len(gain)) * np.sqrt(1 + n_folds / (n_folds - 1)))


def simplest_within_one_error(losses: dict[str, Floats], n_folds: int = N_FOLDS) -> tuple[str, str]:
    """The first name whose loss is within one paired standard error of the least mean loss, and a sentence that says
    so."""
    best = min(losses, key=lambda name: float(losses[name].mean()))
    for name, loss in losses.items():
        if name == best:
            break
        if (loss - losses[best]).mean() <= standard_error(loss - losses[best], n_folds):
            return name, f"{best} has the least held-out log loss, and {name}, simpler, is within one standard error"
    return best, f"{best} has the least held-out log loss, and nothing simpler is within one standard error"
