"""What cannot be concluded from an audit: always, from this one's numbers, and from the warnings on the way."""

from collections.abc import Sequence

from proxcal.report.facts import Stage
from proxcal.report.verdict import points

FEW_SAMPLES = 100
FEW_ERRORS = 30


def limits(stages: Sequence[Stage], n_calibration: int, warned: Sequence[str]) -> list[str]:
    before, after = stages[-2:]
    n, n_wrong = len(before.outcome.correct), int((~before.outcome.correct).sum())
    said = [
        f"All numbers are of {n} test samples. They say nothing of inputs that come from elsewhere: another site, "
        f"camera, population or year. The calibrators learned from {n_calibration} other samples of the same kind.",
        "Proximity is measured in the model's own features. A group of people or of things that the model mixes with "
        "others there can be treated worse without this audit seeing it; look at such groups by name as well.",
        _power(before, after),
        "The bias index compares only samples that have a partner of nearly equal confidence on the other side"
        f"{_coverage(before)}; of the rest it says nothing, but the table by proximity and the errors do.",
        "Every test, interval and comparison stands by itself: of twenty 95 % intervals one is expected to miss.",
    ]
    if n < FEW_SAMPLES:
        said.append(f"{n} test samples are few: p-values and intervals are rough, and the tables mostly chance.")
    if n_wrong < FEW_ERRORS:
        said.append(
            f"Only {n_wrong} of the {n} test predictions are wrong; how confident errors are is then uncertain."
        )
    return [each for each in said if each] + [f"Noted on the way: {message}." for message in warned]


def _power(before: Stage, after: Stage) -> str:
    """How small a bias may still be there, where none was found."""
    unseen = [
        f"{points(max(abs(stage.bias.low), abs(stage.bias.high)))} points ({stage.lower_title})"
        for stage in (before, after)
        if stage.bias is not None and stage.verdict.status not in ("bias", "reverse bias")
    ]
    return f"That none was found does not mean there is none: it may be up to {' or '.join(unseen)}." if unseen else ""


def _coverage(stage: Stage) -> str:
    if stage.bias is None or stage.groups is None:
        return ""
    return f" ({stage.bias.n_pairs} pairs {stage.lower_title}; their confidences overlap by {stage.bias.overlap:.0%})"
