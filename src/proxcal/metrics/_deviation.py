"""E|S - μ| of S = Σ Bernoulli(p_i), μ = Σ p_i: what a bin's error amounts to when nothing is wrong.

Where the variance is small the distribution of S is computed: its characteristic function Π (1 - p_i + p_i e^{-it}) at
t = 2πk/N, inverted. (There |S - μ| passes N/2 with probability below 1e-20.) Where it is large, the Edgeworth expansion
of E|S - μ| to relative order σ^-2, with the Euler-Maclaurin term for S being whole and μ not:

    E|S - μ| ≈ σ √(2/π) [1 + λ₃²/24 - λ₄/24] - (θ² - θ + 1/6) / (σ √(2π)),    θ = μ - ⌊μ⌋

with λ the skewness and excess kurtosis of S. The normal approximation alone is the first factor.
"""

import numpy as np

from proxcal._validation import Floats, Ints

EXACT_BELOW_VARIANCE = 16.0
N_FREQUENCIES = 128


def expected_deviation(probability: Floats, bins: Ints, n_bins: int) -> Floats:
    """For each bin, E|Σ Bernoulli(p_i) - Σ p_i| over its members."""
    cumulants = _cumulants(probability, bins, n_bins)
    large = cumulants[1] >= EXACT_BELOW_VARIANCE
    uncertain = (probability > 0) & (probability < 1) & ~large[bins]
    deviation = _exact(probability[uncertain], bins[uncertain], n_bins)
    deviation[large] = _expansion(*cumulants[:, large])
    return deviation


def _cumulants(p: Floats, bins: Ints, n_bins: int) -> Floats:
    """The first four cumulants of each bin's S, a row each."""
    spread = p * (1 - p)
    of_samples = (p, spread, spread * (1 - 2 * p), spread * (1 - 6 * spread))
    return np.stack([np.bincount(bins, weights=k, minlength=n_bins) for k in of_samples])


def _expansion(mean: Floats, variance: Floats, k3: Floats, k4: Floats) -> Floats:
    sigma = np.sqrt(variance)
    fraction = mean - np.floor(mean)
    edgeworth = 1 + k3**2 / variance**3 / 24 - k4 / variance**2 / 24
    lattice = (fraction**2 - fraction + 1 / 6) / (sigma * np.sqrt(2 * np.pi))
    deviation: Floats = sigma * np.sqrt(2 / np.pi) * edgeworth - lattice
    return deviation


def _exact(p: Floats, bins: Ints, n_bins: int) -> Floats:
    deviation = np.zeros(n_bins)
    if not len(p):
        return deviation
    order = np.argsort(bins, kind="stable")
    p = p[order]
    present, starts = np.unique(bins[order], return_index=True)
    mean = np.add.reduceat(p, starts)
    centre = np.round(mean)
    turns = np.exp(-2j * np.pi * np.arange(N_FREQUENCIES // 2 + 1) / N_FREQUENCIES)
    transform = np.stack([np.multiply.reduceat(1 - p * (1 - turn), starts) for turn in turns], axis=1)
    transform *= turns.conj() ** centre[:, None]  # the distribution of S - centre
    distribution = np.fft.irfft(transform, N_FREQUENCIES, axis=1)
    offset = np.fft.fftfreq(N_FREQUENCIES, d=1 / N_FREQUENCIES)
    deviation[present] = np.sum(distribution * np.abs(offset + (centre - mean)[:, None]), axis=1)
    return deviation
