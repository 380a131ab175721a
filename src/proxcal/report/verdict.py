"""The verdict in words, with how sure it is.

Four are possible of a confidence. Bias, or bias the other way: the test rejects at 0.05. None found: it does not, and
the interval excludes any bias of more than 10 points. Else nothing can be concluded: the samples are too few to tell,
or there is no test at all. Whatever it is, the second test, which needs no pairs, is told beside it.
"""

from collections.abc import Mapping
from itertools import groupby

from proxcal.report.facts import Along, Bias, Status, Verdict

LEVEL = 0.05
LARGE = 0.10
PARTS = {3: "third", 5: "fifth"}
UNKNOWN = "Cannot be concluded"

FIRST: dict[Status, str] = {
    "bias": "Proximity bias found",
    "reverse bias": "Reverse proximity bias found",
    "none found": "No proximity bias found",
    "inconclusive": "Whether there is proximity bias cannot be concluded",
}
LATER: dict[Status, str] = {
    "bias": "bias found",
    "reverse bias": "reverse bias found",
    "none found": "none found",
    "inconclusive": "nothing can be concluded",
}


def judge(bias: Bias | None, reason: str | None, along: Along) -> Verdict:
    status, headline, found = _of_test(bias, reason)
    where = "Across all proximities" if along.n_steps > 1 else "Overall"
    wrong = "wrong" if along.p_value < LEVEL else "not shown to be wrong"
    return Verdict(status, headline, f"{found} {where}, confidence is {wrong} ({p_text(along.p_value)}).")


def _of_test(bias: Bias | None, reason: str | None) -> tuple[Status, str, str]:
    if bias is None:
        return "inconclusive", UNKNOWN, f"There is no test, because {reason}."
    index, excluded = bias.bias_index, max(abs(bias.low), abs(bias.high))
    part = PARTS[bias.n_groups]
    seen = (
        f"At equal confidence, the {part} of the inputs with the least data like them is right {_less(index)} "
        f"the {part} with the most ({certainty(bias)}; {bias.n_pairs} pairs)."
    )
    if bias.p_value < LEVEL:
        return ("bias", "Bias found", seen) if index > 0 else ("reverse bias", "Reverse bias found", seen)
    if excluded > LARGE:
        doubt = f"Chance alone may do that, and a bias of up to {points(excluded)} points is not excluded."
        return "inconclusive", f"{UNKNOWN}: too few samples to compare", f"{seen} {doubt}"
    return "none found", "No bias found", f"{seen} More than {points(excluded)} points either way is excluded."


def summarize(verdicts: Mapping[str, Verdict]) -> str:
    """One sentence of the verdicts at several places, such as "after ProCal"; equal neighbours together."""
    said: list[str] = []
    for status, places in groupby(verdicts, lambda place: verdicts[place].status):
        found = (LATER if said else FIRST)[status]
        said.append(f"{found} {' and '.join(places)}")
    return f"{'; '.join(said)}."


def certainty(bias: Bias) -> str:
    return f"95 % interval {points(bias.low)} to {points(bias.high)}, {p_text(bias.p_value)}"


def points(share: float) -> str:
    """A share in percentage points, with a true minus."""
    return f"{round(100 * share, 1) + 0.0:.1f}".replace("-", "−")


def p_text(p_value: float) -> str:
    return "p < 0.0001" if p_value < 1e-4 else f"p = {p_value:.2g}"


def _less(index: float) -> str:
    if points(abs(index)) == "0.0":
        return "as often as"
    return f"{points(abs(index))} percentage points {'less' if index > 0 else 'more'} often than"
