"""Smooth ECE: a calibration error without bins, whose one scale the data choose (Błasiok and Nakkiran, 2023).

    smECE_σ = ∫ |Σ_i K_σ(t, confidence_i) (correct_i - confidence_i)| / n dt,        smECE = the σ with smECE_σ = σ

K_σ is a Gaussian reflected at 0 and 1: the heat kernel on [0, 1], which damps the k-th cosine by exp(-(πkσ)²/2). So
residuals are put into fine cells once, and each σ tried costs one inverse cosine transform. smECE_σ falls with σ.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.fft import dct, idct
from scipy.optimize import brentq

from proxcal._validation import Array, Floats, Ints, check_samples

N_CELLS = 4096


def smooth_ece(confidence: ArrayLike, correct: ArrayLike) -> float:
    """Smooth expected calibration error, at the bandwidth equal to it."""
    p, right = check_samples(confidence=confidence, correct=correct)
    excess = np.bincount(cell_of(p, N_CELLS), weights=right - p, minlength=N_CELLS)
    return own_bandwidth(excess / len(p))


def cell_of(confidence: Floats, n_cells: int) -> Ints:
    return np.minimum((confidence * n_cells).astype(np.intp), n_cells - 1)


def own_bandwidth(excess: Floats) -> float:
    """The σ at which the error is σ; `excess` has for each cell Σ (correct - confidence) / n."""
    if not excess.any():
        return 0.0
    return float(brentq(lambda sigma: float(smoothed_error(excess, sigma)) - sigma, 0.0, 1.0, xtol=1e-9))


def smoothed_error(excess: Floats, sigma: float) -> Floats:
    """smECE_σ, along the last axis."""
    error: Floats = np.abs(smoothed(excess, sigma)).sum(axis=-1)
    return error


def smoothed(excess: Array, sigma: float) -> Floats:
    """What the reflected Gaussian makes of the cells along the last axis; their sum stays."""
    frequency = np.pi * np.arange(excess.shape[-1])
    spread: Floats = idct(dct(excess, axis=-1) * np.exp(-((frequency * sigma) ** 2) / 2), axis=-1)
    return spread
