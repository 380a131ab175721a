"""Several informed calibrators, one after another: each corrects the confidence that the former gave.

The paper's theorem 5.1 holds for any calibrator h under Bin-Mean-Shift, a Bin-Mean-Shift with other bins included, so
with enough samples each further one lowers the Brier score or leaves it as it is. The theorem takes h as given: a step
must not learn from confidences of samples that the former step was fitted on, which look better than new ones
will. So each learns from what the former gives a sample by nine folds of ten that do not hold it, and what a step
decides by its own cross-validation stays honest. (Under `MIN_SAMPLES` folds say nothing; then it is the former's own.)
"""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from proxcal._held_out import assign_folds
from proxcal._validation import Bools, Floats, check_features, check_samples
from proxcal.informed._calibrator import InformedCalibrator, Samples
from proxcal.informed.selection import MIN_SAMPLES, held_out


class Chain(InformedCalibrator):
    """`ProCal(informed=[...])`: the steps in turn. `proximity` is its logarithm.

    Parameters
    ----------
    steps : informed calibrators, the first of which gets the base's confidence.
    random_state : draws the folds by which a step's confidence is handed on.

    Learns `steps_`, the steps fitted.
    """

    def __init__(self, *, steps: Sequence[Any], random_state: int = 0) -> None:
        self.steps = steps
        self.random_state = random_state

    @property
    def takes_evidence(self) -> bool:  # type: ignore[override]
        return any(getattr(step, "takes_evidence", False) for step in self.steps)

    def fit(
        self, confidence: ArrayLike, proximity: ArrayLike, correct: ArrayLike, evidence: ArrayLike | None = None
    ) -> Self:
        p, d, right = check_samples(confidence=confidence, proximity=proximity, correct=correct)
        samples = self._samples(p, d, evidence)
        steps: list[Any] = []
        for step in self.steps:
            if steps:
                samples = samples.with_confidence(self._handed_on(steps[-1], samples, right))
            steps.append(samples.fit(clone(step, safe=False), right))
        self.steps_ = steps
        return self

    def predict(self, confidence: ArrayLike, proximity: ArrayLike, evidence: ArrayLike | None = None) -> Floats:
        check_is_fitted(self)
        p, d = check_samples(confidence=confidence, proximity=proximity)
        samples = self._samples(p, d, evidence)
        for step in self.steps_:
            samples = samples.with_confidence(samples.predict(step))
        return samples.confidence

    def _samples(self, confidence: Floats, log_proximity: Floats, evidence: ArrayLike | None) -> Samples:
        if not self.takes_evidence:
            return Samples(confidence, log_proximity)
        columns = check_features(evidence, n_samples=len(confidence), name="evidence")
        return Samples(confidence, log_proximity, columns.astype(np.float64))

    def _handed_on(self, fitted: Any, samples: Samples, correct: Bools) -> Floats:
        """What a step says of the samples it was fitted on, as if they were new."""
        if len(correct) < MIN_SAMPLES:
            return samples.predict(fitted)
        folds = assign_folds(len(correct), self.random_state)
        return held_out(clone(fitted, safe=False), samples, correct, folds)
