"""`NeighborVotes`: what the neighbours' labels, and the probabilities they were given, add to the logits of a row."""

import numpy as np

from proxcal.base import NeighborVotes
from proxcal.base._vote_rows import LOWEST, log_intercept
from proxcal.base._votes import FAR, NEAR, PRIOR
from proxcal.integrations.torch.calibration._frozen import Tensor, torch
from proxcal.integrations.torch.calibration.base import Base, softmax
from proxcal.integrations.torch.calibration.search import Near


class Voted(Base):
    def __init__(self, fitted: NeighborVotes) -> None:
        super().__init__(fitted)
        self._hold(
            temperature=fitted.temperature_,
            weights=fitted.weights_,
            bandwidth=max(fitted.bandwidth_, torch.finfo(torch.float64).tiny),
            intercept=log_intercept(fitted.label_counts_, fitted.expected_counts_),
            labels=fitted.reference_labels_,
            classes=fitted.reference_classes_,
        )
        self._hold_as(np.float32, reference_probs=fitted.reference_probs_)

    def forward(self, scores: Tensor, near: Near) -> Tensor:
        z = self.logits(scores)
        below = ((z - z.amax(1, keepdim=True)) / self.temperature).clamp(min=LOWEST)
        logits = self.weights[0] * below + self.weights[-1] * self.intercept
        for i, votes in enumerate(self._counts(near, torch.zeros_like(below)), start=1):
            logits = logits + self.weights[i] * torch.log1p(votes / PRIOR)
        return softmax(logits)

    def _counts(self, near: Near, nothing: Tensor) -> tuple[Tensor, ...]:
        """Ten, fifty, close and expected, each (n, C)."""
        found = near.indices[:, :FAR]
        labels = self.labels[found]
        closeness = torch.exp(-((near.distances[:, :FAR] / self.bandwidth) ** 2))
        weighed = (self.reference_probs[found].double() * closeness[:, :, None]).flatten(1)
        return (
            nothing.scatter_add(1, labels[:, :NEAR], closeness[:, :NEAR]),
            nothing.scatter_add(1, labels, closeness),
            nothing.scatter_add(1, labels, closeness**4),
            nothing.scatter_add(1, self.classes[found].flatten(1), weighed),
        )
