"""Folds for cross-validation: sizes within one of each other, the same for the same seed."""

import numpy as np

from proxcal._validation import Ints

N_FOLDS = 10


def assign_folds(n_samples: int, random_state: int) -> Ints:
    """A fold number for each sample; with fewer samples than folds, each is a fold of its own."""
    folds = np.arange(n_samples) % min(N_FOLDS, n_samples)
    return np.random.default_rng(random_state).permutation(folds)
