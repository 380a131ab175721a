"""What the methods share that give every row a temperature of its own.

    p = softmax(z / T),    log T = log T₀ + 2 tanh(g(x) / 2)

T₀ is plain temperature scaling's, g a network with two hidden layers of five units, x the row's largest logits in
order (the first, and how far the others lie below it) and whatever else the method knows of the sample. g starts as
zero, so the search starts at plain temperature scaling and never ends worse on its own calibration set, and T stays
within a factor e² of T₀. A normal prior on the network's parameters keeps small calibration sets from being learned by
heart; L-BFGS runs to convergence, from a few starts.
"""

import numpy as np
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from proxcal._validation import Array, Floats, Ints, check_choice, row_blocks
from proxcal.base import _network as network
from proxcal.base._calibrator import BaseCalibrator, as_logits, softmax
from proxcal.base._loss_curves import LOSSES, RANGE, Loss, LossCurves, losses
from proxcal.base._softmax_rows import SoftmaxRows
from proxcal.base.temperature import fit_temperature

N_LARGEST = 10
FAR = 50.0  # a logit so many temperatures below the largest weighs nothing, however much further it lies
_PRIOR = 10.0  # inverse variance of each parameter: on real sets of 300 to 4 000 samples 1 and 3 did harm, 30 nothing
_N_STARTS = 3
_MAX_STEPS = 1000


class RowTemperature(BaseCalibrator):
    """Subclasses say what `more` is known of each sample, (n, m); m may be 0.

    Learns `temperature_` (T₀), `center_` and `spread_` of the inputs, `network_` (its parameters), and two losses on
    the calibration set: `loss_`, and `plain_loss_`, that of plain temperature scaling.
    """

    loss: Loss
    random_state: int | None
    preserves_order = True

    def _learn(self, scores: Array, labels: Ints, more: Floats) -> None:
        check_choice("loss", self.loss, LOSSES)
        rows = SoftmaxRows.of(scores, labels, self.input)
        self.temperature_ = fit_temperature(rows)
        inputs = np.concatenate([self._inputs(scores[block], more[block]) for block in row_blocks(*scores.shape)])
        self.center_, self.spread_ = inputs.mean(axis=0), inputs.std(axis=0)
        self.spread_[self.spread_ <= 1e-9 * np.abs(self.center_)] = 1
        self.network_ = np.zeros(network.n_parameters(inputs.shape[1]))
        self.plain_loss_ = self.loss_ = _mean_loss(rows, self.temperature_, self.loss)
        if rows.label_below.any():
            self._improve(rows, (inputs - self.center_) / self.spread_)

    def _improve(self, rows: SoftmaxRows, inputs: Floats) -> None:
        curves = LossCurves.of(rows, self.temperature_, self.loss)
        found = _least(curves, inputs, np.random.default_rng(self.random_state))
        temperature = self.temperature_ * np.exp(_bounded(network.outputs(inputs, found)))
        loss = _mean_loss(rows, temperature, self.loss)
        if loss < self.plain_loss_:
            self.network_, self.loss_ = found, loss

    def _tempered(self, scores: Array, more: Floats) -> Floats:
        inputs = (self._inputs(scores, more) - self.center_) / self.spread_
        s = _bounded(network.outputs(inputs, self.network_))
        return softmax(as_logits(scores, self.input), (np.exp(-s) / self.temperature_)[:, None])

    def _inputs(self, scores: Array, more: Floats) -> Floats:
        """The largest logits of each row in units of T₀ (the first, and how far the next lie below it), and `more`."""
        z = as_logits(scores, self.input)
        k = min(N_LARGEST, z.shape[1])
        largest = np.sort(np.partition(z, -k, axis=1)[:, -k:], axis=1)[:, ::-1].astype(np.float64)
        with np.errstate(over="ignore"):
            largest[:, 1:] = np.minimum((largest[:, :1] - largest[:, 1:]) / self.temperature_, FAR)
        largest[:, 0] /= self.temperature_
        return np.concatenate([largest, more], axis=1)


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
