"""One model's samples as each of several calibrators sees them: where the pictures that compare calibrators start."""

from collections.abc import Mapping
from typing import NamedTuple

from numpy.typing import ArrayLike

from proxcal._validation import Bools, Floats, check_samples

ByName = ArrayLike | Mapping[str, ArrayLike]
ALONE = ""  # the name of a confidence that came without one


class Samples(NamedTuple):
    confidence: Floats
    correct: Bools
    proximity: Floats


def by_calibrator(confidence: ByName, correct: ByName, proximity: ArrayLike) -> dict[str, Samples]:
    """The checked samples of each calibrator by name: of one array of confidence alone, or of a mapping of several.

    `correct` is a mapping too where calibrators change predictions.
    """
    confidences = confidence if isinstance(confidence, Mapping) else {ALONE: confidence}
    if not confidences:
        raise ValueError("confidence is an empty mapping; it needs an array for each calibrator")
    return {str(name): _samples(name, values, correct, proximity) for name, values in confidences.items()}


def _samples(name: str, confidence: ArrayLike, correct: ByName, proximity: ArrayLike) -> Samples:
    if isinstance(correct, Mapping):
        if name not in correct:
            raise ValueError(f"correct has no entry {name!r}; a mapping needs one for each calibrator in confidence")
        correct = correct[name]
    try:
        return Samples(*check_samples(confidence=confidence, correct=correct, proximity=proximity))
    except ValueError as error:
        raise ValueError(f"{error} (calibrator {name!r})" if name else str(error)) from None
