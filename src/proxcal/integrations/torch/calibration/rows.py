"""From a new confidence to whole rows, as `proxcal.rows` has it; every row is treated alike, in a fixed number of
steps, which a compiler and ONNX can take whole."""

import numpy as np

from proxcal.integrations.torch.calibration._frozen import Frozen, Tensor, torch
from proxcal.rows import FLOOR, ROUNDING, TINY, Mode

_AHEAD = 1 + 4 * torch.finfo(torch.float32).eps  # how far the top stays ahead of the runner-up: told apart in float32
_N_STEPS = 16  # each brings what is left at least to its e-th part, near the end to its square
_LEFT_OUT = -1e30  # the logarithm of the predicted class among the others: its exponential is 0 ...
_LEAST = 1e-25  # ... for this exponent too, which is as good as 0 for the rest


class Rows(Frozen):
    def __init__(self, exponent: float, mode: Mode, n_classes: int) -> None:
        super().__init__()
        self._mode = mode
        self._hold(exponent=1.0 if mode == "paper" else exponent, floor=min(FLOOR, exponent))
        self._fix(classes=np.arange(n_classes), tiny=TINY)

    def forward(self, rows: Tensor, predicted: Tensor, confidence: Tensor) -> Tensor:
        """Rows whose predicted class has the new confidence."""
        logs = torch.maximum(rows, self.tiny).log()
        own = self.classes == predicted[:, None]
        confidence = confidence[:, None]
        below = torch.where(own, _LEFT_OUT, logs)
        below = below - below.amax(1, keepdim=True)
        weights = torch.exp(self.exponent * below)
        total = weights.sum(1, keepdim=True)
        if self._mode == "keep":
            least_total = _AHEAD * (1 - confidence) / torch.maximum(confidence, self.tiny)
            overtaken = total < least_total
            weights = torch.where(overtaken, torch.exp(self._lowered(below, least_total) * below), weights)
            total = weights.sum(1, keepdim=True)
        new = torch.where(own, confidence, weights * ((1 - confidence) / total))
        if self._mode == "keep":
            impossible = overtaken & (least_total - total > ROUNDING * least_total)
            new = torch.where(impossible, _nearly_uniform(logs, own), new)
        return new

    def _lowered(self, below: Tensor, least_total: Tensor) -> Tensor:
        """Newton's steps of `proxcal.rows` to the largest exponent with Σ exp(b · below) ≥ least_total."""
        b = torch.where(least_total < below.shape[1] - 1, _LEAST, self.floor)
        target = torch.maximum(least_total, self.tiny).log()
        for _ in range(_N_STEPS):
            weights = torch.exp(b * below)
            total = weights.sum(1, keepdim=True)
            slope = (weights * below).sum(1, keepdim=True) / total
            gap = (total.log() - target).clamp(min=0)
            b = torch.minimum(b - gap / slope.clamp(max=-ROUNDING), self.exponent)
        return b


def _nearly_uniform(logs: Tensor, own: Tensor) -> Tensor:
    flat = torch.exp(FLOOR * (logs - logs.amax(1, keepdim=True)))
    flat = torch.where(own, _AHEAD * flat, flat)
    return flat / flat.sum(1, keepdim=True)
