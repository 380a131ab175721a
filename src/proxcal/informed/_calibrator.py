"""What the informed calibrators share: (confidence, proximity, maybe evidence) comes in, a better confidence goes out.

`proximity` may be on any increasing scale: all but the paper's own Density-Ratio use its order only, so `ProCal`
hands them its logarithm, which never underflows. `Samples` holds what is known of samples, and hands each calibrator
what it takes.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from proxcal._estimator import Estimator
from proxcal._validation import Bools, Floats, Ints, check_samples


class InformedCalibrator(Estimator):
    """`fit(confidence, proximity, correct)` and `predict(confidence, proximity)`, with `evidence` last where it is
    taken."""

    proximity_scale: Literal["log", "plain"] = "log"
    takes_evidence: ClassVar[bool] = False


@dataclass(frozen=True)
class Samples:
    """Base confidence, log proximity and, where it was asked for, evidence of n samples."""

    confidence: Floats
    log_proximity: Floats
    evidence: Floats | None = None

    def take(self, which: Ints | Bools | slice) -> "Samples":
        evidence = None if self.evidence is None else self.evidence[which]
        return Samples(self.confidence[which], self.log_proximity[which], evidence)

    def with_confidence(self, confidence: ArrayLike) -> "Samples":
        """The same samples with what a calibrator, anyone's, gave them."""
        (checked,) = check_samples(confidence=confidence)
        return replace(self, confidence=checked)

    def fit(self, calibrator: Any, correct: Bools) -> Any:
        return calibrator.fit(self.confidence, self._proximity(calibrator), correct, *self._evidence(calibrator))

    def predict(self, calibrator: Any) -> Floats:
        predicted: Floats = calibrator.predict(
            self.confidence, self._proximity(calibrator), *self._evidence(calibrator)
        )
        return predicted

    def _proximity(self, calibrator: Any) -> Floats:
        """The logarithm for those that ask for it; anyone else's object gets proximity as it is defined, in (0, 1]."""
        if getattr(calibrator, "proximity_scale", "plain") == "log":
            return self.log_proximity
        return np.exp(self.log_proximity)

    def _evidence(self, calibrator: Any) -> tuple[Floats, ...]:
        takes = getattr(calibrator, "takes_evidence", False)
        return (self.evidence,) if takes and self.evidence is not None else ()
