"""One confidence judged: its verdict, its test, its table by proximity group, and its errors with their intervals."""

from typing import Any

import numpy as np

from proxcal._validation import Ints
from proxcal.bias import bias_test, proximity_groups
from proxcal.experiments import Outcome
from proxcal.metrics import (
    MetricInterval,
    PairedDifference,
    ace,
    brier,
    confidence_interval,
    cumulative_difference,
    ece,
    mce,
    nll,
    paired_difference,
    piece,
    wilson_interval,
)
from proxcal.metrics._cells import Metric
from proxcal.report.facts import Along, Bias, Group, Share, Stage
from proxcal.report.verdict import judge

METRICS: dict[str, Metric] = {"ece": ece, "ace": ace, "mce": mce, "piece": piece, "nll": nll, "brier": brier}
SAME_PROXIMITY = (
    "so many test samples have the same proximity that those with the least data like them and those with the"
    " most cannot be told apart"
)
NO_PAIRS = (
    "no test sample of low proximity has nearly the confidence of one of high proximity, so there is nothing to compare"
)


def describe(name: str, title: str, outcome: Outcome, predicted_by_model: Ints, n_resamples: int) -> Stage:
    groups = _groups(outcome)
    bias, reason = (None, SAME_PROXIMITY) if groups is None else _bias(outcome)
    added = cumulative_difference(outcome.confidence, outcome.correct, outcome.log_proximity)
    along = Along(added.kuiper, added.kuiper_p_value, len(added.difference) - 1)
    accuracy = float(outcome.correct.mean())
    return Stage(
        name=name,
        title=title,
        verdict=judge(bias, reason, along),
        accuracy=Share(accuracy, *map(float, wilson_interval(accuracy, len(outcome.correct)))),
        confidence=float(outcome.confidence.mean()),
        changed=float(np.mean(outcome.predicted != predicted_by_model)),
        bias=bias,
        groups=groups,
        reason=reason,
        along_proximity=along,
        metrics={metric: _interval(metric, outcome, n_resamples) for metric in METRICS},
        outcome=outcome,
    )


def compare(before: Outcome, after: Outcome, n_resamples: int) -> dict[str, PairedDifference]:
    """After against before on the same samples, by metric."""
    samples = before.confidence, after.confidence, before.correct
    return {
        name: paired_difference(
            metric, *samples, correct_after=after.correct, n_resamples=n_resamples, **_more(name, before)
        )
        for name, metric in METRICS.items()
    }


def _interval(metric: str, outcome: Outcome, n_resamples: int) -> MetricInterval:
    return confidence_interval(
        METRICS[metric], outcome.confidence, outcome.correct, n_resamples=n_resamples, **_more(metric, outcome)
    )


def _more(metric: str, outcome: Outcome) -> dict[str, Any]:
    return {"proximity": outcome.log_proximity} if metric == "piece" else {}


def _groups(outcome: Outcome) -> list[Group] | None:
    """By fifths; None where the lowest and the highest do not differ in proximity."""
    try:
        table = proximity_groups(outcome.confidence, outcome.correct, outcome.log_proximity)
    except ValueError:
        return None
    ends = wilson_interval(table.accuracy, table.count)
    columns = np.exp(table.proximity), table.accuracy, *ends, table.confidence, table.gap
    return [Group(int(n), *map(float, row)) for n, *row in zip(table.count, *columns, strict=True)]


def _bias(outcome: Outcome) -> tuple[Bias | None, str | None]:
    """The test, or why there is none."""
    try:
        found = bias_test(outcome.confidence, outcome.correct, outcome.log_proximity)
    except ValueError:
        return None, NO_PAIRS
    if found.accuracy_low == found.accuracy_high and found.accuracy_low in (0, 1):
        which = "right" if found.accuracy_low else "wrong"
        return None, f"all the test samples compared ({found.n_pairs} pairs) are {which}, the one part as the other"
    low, high = found.interval
    own = {name: value for name, value in vars(found).items() if name in Bias.__dataclass_fields__}
    return Bias(**own | {"low": low, "high": high}), None
