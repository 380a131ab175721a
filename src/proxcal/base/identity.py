"""The model's own probabilities, untouched: what calibrators are compared with, and a base to inform as it is."""

from proxcal._validation import Array, Floats, Input, Ints
from proxcal.base._calibrator import BaseCalibrator, as_probs


class Identity(BaseCalibrator):
    """softmax(z) for logits; for probabilities the rows themselves, made to sum to 1."""

    preserves_order = True

    def __init__(self, *, input: Input = "logits") -> None:
        self.input = input

    def _fit(self, scores: Array, labels: Ints) -> None:
        """Nothing to learn."""

    def _rows(self, scores: Array) -> Floats:
        return as_probs(scores, self.input)
