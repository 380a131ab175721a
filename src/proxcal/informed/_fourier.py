"""Exact sums of Gaussian kernels over many samples, in time that grows with m + n and not with m · n.

Where no two coordinates are farther apart than L bandwidths, a kernel is a Fourier series of period P = L + R,

    exp(-½ t²) = Σ_k c_k cos(2πk t / P),    c_k = √(2π)/P · exp(-½ (2πk/P)²), twice that for k > 0,

whose images lie R bandwidths off and whose terms beyond 2πk/P = R are as small: with R = 8.6 both are below float64's
rounding. As cos(a − b) = cos a cos b + sin a sin b, a sum over samples is three matrix products. It is off by some
1e-16 of all weights together, so the caller takes points that are far from all samples the long way.
"""

import numpy as np

from proxcal._threads import in_threads, products_on_one_thread
from proxcal._validation import Floats, row_blocks

_REACH = 8.6  # bandwidths: exp(-½ R²) < 1e-16
_BYTES = 1 << 19  # of a block of waves
_WORTH = 50  # a pair of point and sample costs as much as so many products here


def pays(n_points: int, samples: Floats) -> bool:
    """Whether this is faster than the sums over all pairs; samples (n, 2) in bandwidths."""
    waves = [2 * _n_waves(_period(axis)) + 1 for axis in samples.T]
    return waves[0] * waves[1] * (n_points + len(samples)) < _WORTH * n_points * len(samples)


def kernel_sums(points: Floats, samples: Floats, weights: Floats) -> Floats:
    """At each of m points within the samples' ranges k weighted sums: (m, 2), (n, 2), (n, k) to (m, k), coordinates in
    bandwidths. Those that rounding has left nothing of may be negative."""
    low, periods = samples.min(axis=0), [_period(axis) for axis in samples.T]
    series = [_coefficients(period) for period in periods]
    width = len(series[0]) + len(series[1])
    moments = np.zeros((weights.shape[1], len(series[0]), len(series[1])))
    with products_on_one_thread():
        for block in row_blocks(len(samples), width, _BYTES):
            x, y = (_waves(samples[block, axis] - low[axis], periods[axis]) for axis in range(2))
            for moment, weight in zip(moments, weights[block].T, strict=True):
                moment += (x * weight[:, None]).T @ y
    moments *= series[0][:, None] * series[1]
    sums = np.empty((len(points), weights.shape[1]))

    def add_up(block: slice) -> None:
        x, y = (_waves(points[block, axis] - low[axis], periods[axis]) for axis in range(2))
        for column, moment in enumerate(moments):
            sums[block, column] = np.einsum("ij,ij->i", x @ moment, y)

    in_threads(add_up, row_blocks(len(points), width, _BYTES))
    return sums


def _period(values: Floats) -> float:
    return float(np.ptp(values)) + _REACH


def _n_waves(period: float) -> int:
    return int(np.ceil(_REACH * period / (2 * np.pi)))


def _coefficients(period: float) -> Floats:
    """Of the columns of `_waves`."""
    frequency = 2 * np.pi / period * np.arange(_n_waves(period) + 1)
    c = np.sqrt(2 * np.pi) / period * np.exp(-0.5 * frequency**2)
    return np.concatenate([c[:1], 2 * c[1:], 2 * c[1:]])


def _waves(values: Floats, period: float) -> Floats:
    """1, then the cosines, then the sines: real and imaginary parts of the powers of exp(2πi t / P)."""
    turn = np.exp(2j * np.pi / period * values)[:, None]
    powers = np.multiply.accumulate(np.broadcast_to(turn, (len(values), _n_waves(period))), axis=1)
    return np.concatenate([np.ones((len(values), 1)), powers.real, powers.imag], axis=1)
