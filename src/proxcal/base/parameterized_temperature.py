"""Parameterized temperature scaling (Tomani et al. 2022): a temperature for every row, from its ten largest logits.

    p = softmax(z / T(z)),    log T(z) = log T₀ + 2 tanh(g(x) / 2)

T₀ is plain temperature scaling's, g a network with two hidden layers of five units, x the largest logits in order: the
first, and how far the others lie below it. g starts as zero, so the search starts at plain temperature scaling and
never ends worse on its own calibration set, and T stays within a factor e² of T₀. A normal prior on the
network's parameters keeps small calibration sets from being learned by heart; L-BFGS runs to convergence, from a few
starts.
"""

import numpy as np
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from proxcal._validation import Array, Floats, Input, Ints, check_choice, row_blocks
from proxcal.base import _network as network
from proxcal.base._calibrator import BaseCalibrator, as_logits, softmax
from proxcal.base._loss_curves import LOSSES, RANGE, Loss, LossCurves, losses
from proxcal.base._softmax_rows import SoftmaxRows
from proxcal.base.temperature import fit_temperature

_N_LARGEST = 10
_FAR = 50.0  # a logit so many temperatures below the largest weighs nothing, however much further it lies
_PRIOR = 10.0  # inverse variance of each parameter: on real sets of 300 to 4 000 samples 1 and 3 did harm, 30 nothing
_N_STARTS = 3
_MAX_STEPS = 1000


class ParameterizedTemperatureScaling(BaseCalibrator):
    """A temperature for every row by `loss`, "log" or "brier" (over all classes). Order-preserving.

    Learns `temperature_` (T₀), `center_` and `spread_` of the inputs, `network_` (its parameters), and two losses on
    the calibration set: `loss_`, and `plain_loss_`, that of plain temperature scaling. Where every label is right no
    temperature is best: it is then plain temperature scaling.

    Rows of two kinds, sure and unsure, with the logits twice too large in one of them:

    >>> rng = np.random.default_rng(0)
    >>> sure = np.arange(4000) % 2
    >>> logits = rng.normal(size=(4000, 10)) * np.where(sure, 6, 2)[:, None]
    >>> labels = (logits / np.where(sure, 2, 1)[:, None] + rng.gumbel(size=logits.shape)).argmax(axis=1)
    >>> for loss in ("log", "brier"):
    ...     calibrator = ParameterizedTemperatureScaling(loss=loss).fit(logits, labels)
    ...     print(f"{loss}: {calibrator.plain_loss_:.2f} -> {calibrator.loss_:.2f}")
    log: 1.20 -> 1.14
    brier: 0.55 -> 0.54
    """

    preserves_order = True

    def __init__(self, *, loss: Loss = "log", random_state: int | None = 0, input: Input = "logits") -> None:
        self.loss = loss
        self.random_state = random_state
        self.input = input

    def _fit(self, scores: Array, labels: Ints) -> None:
        check_choice("loss", self.loss, LOSSES)
        rows = SoftmaxRows.of(scores, labels, self.input)
        self.temperature_ = fit_temperature(rows)
        inputs = np.concatenate([self._largest(scores[block]) for block in row_blocks(*scores.shape)])
        self.center_, self.spread_ = inputs.mean(axis=0), inputs.std(axis=0)
        self.spread_[self.spread_ <= 1e-9 * np.abs(self.center_)] = 1
        self.network_ = np.zeros(network.n_parameters(inputs.shape[1]))
        self.plain_loss_ = self.loss_ = _mean_loss(rows, self.temperature_, self.loss)
        if rows.label_below.any():
            self._learn(rows, (inputs - self.center_) / self.spread_)

    def _learn(self, rows: SoftmaxRows, inputs: Floats) -> None:
        curves = LossCurves.of(rows, self.temperature_, self.loss)
        found = _least(curves, inputs, np.random.default_rng(self.random_state))
        temperature = self.temperature_ * np.exp(_bounded(network.outputs(inputs, found)))
        loss = _mean_loss(rows, temperature, self.loss)
        if loss < self.plain_loss_:
            self.network_, self.loss_ = found, loss

    def _rows(self, scores: Array) -> Floats:
        inputs = (self._largest(scores) - self.center_) / self.spread_
        s = _bounded(network.outputs(inputs, self.network_))
        return softmax(as_logits(scores, self.input), (np.exp(-s) / self.temperature_)[:, None])

    def _largest(self, scores: Array) -> Floats:
        """The largest logits of each row in units of T₀: the first, and how far the next lie below it."""
        z = as_logits(scores, self.input)
        k = min(_N_LARGEST, z.shape[1])
        largest = np.sort(np.partition(z, -k, axis=1)[:, -k:], axis=1)[:, ::-1].astype(np.float64)
        with np.errstate(over="ignore"):
            largest[:, 1:] = np.minimum((largest[:, :1] - largest[:, 1:]) / self.temperature_, _FAR)
        largest[:, 0] /= self.temperature_
        return largest


def _bounded(output: Floats) -> Floats:
    """s = log(T / T₀), within the range of the curves."""
    return RANGE * np.tanh(output / RANGE)


def _mean_loss(rows: SoftmaxRows, temperature: float | Floats, loss: Loss) -> float:
    return float(losses(rows, temperature, loss)[0].mean())


def _least(curves: LossCurves, inputs: Floats, rng: np.random.Generator) -> Floats:
    """The parameters of least mean loss plus prior among a few starts."""
    n, n_inputs = inputs.shape
    penalty = _PRIOR / n

    def objective(parameters: Floats) -> tuple[float, Floats]:
        output, pullback = network.outputs_and_pullback(inputs, parameters)
        s = _bounded(output)
        loss, slope = curves.at(s)
        along_output = slope * (1 - (s / RANGE) ** 2) / n
        return float(loss.mean() + penalty * (parameters @ parameters) / 2), pullback(
            along_output
        ) + penalty * parameters

    options = {"maxiter": _MAX_STEPS, "maxfun": 2 * _MAX_STEPS, "ftol": 1e-7, "gtol": 1e-6}
    starts = [network.start(n_inputs, rng) for _ in range(_N_STARTS)]
    with threadpool_limits(1, "blas"):  # products this thin only wait for each other on several threads
        ends = [minimize(objective, start, jac=True, method="L-BFGS-B", options=options) for start in starts]
    best: Floats = min(ends, key=lambda end: float(end.fun)).x
    return best
