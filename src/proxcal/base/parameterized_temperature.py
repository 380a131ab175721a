"""Parameterized temperature scaling (Tomani et al. 2022): a temperature for every row, from its ten largest logits.

    p = softmax(z / T(z))

T is plain temperature scaling's, corrected by a small network (`_row_temperature.py`). The published recipe, 100 epochs
of Adam at 5e-5, hardly leaves its random start; this one starts at plain temperature scaling and converges.
"""

import numpy as np

from proxcal._validation import Array, Floats, Input, Ints
from proxcal.base._loss_curves import Loss
from proxcal.base._row_temperature import RowTemperature


class ParameterizedTemperatureScaling(RowTemperature):
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

    def __init__(self, *, loss: Loss = "log", random_state: int | None = 0, input: Input = "logits") -> None:
        self.loss = loss
        self.random_state = random_state
        self.input = input

    def _fit(self, scores: Array, labels: Ints) -> None:
        self._learn(scores, labels, _nothing_more(scores))

    def _rows(self, scores: Array) -> Floats:
        return self._tempered(scores, _nothing_more(scores))


def _nothing_more(scores: Array) -> Floats:
    return np.empty((len(scores), 0))
