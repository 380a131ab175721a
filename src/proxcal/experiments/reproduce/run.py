"""What every protocol is run with, and how its measurements become pairs: a base calibrator, and the same with ours."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from proxcal._validation import Input
from proxcal.experiments._setup import make_calibrators
from proxcal.experiments.evaluate import Progress, better_of
from proxcal.experiments.evaluation import Method as Side
from proxcal.experiments.measures import measure
from proxcal.experiments.paired import over_splits
from proxcal.experiments.reproduce.inputs import Inputs
from proxcal.experiments.reproduce.parts import Parts, Value
from proxcal.experiments.reproduce.printed import PrintedPair
from proxcal.experiments.reproduce.protocols import METHODS, Protocol
from proxcal.experiments.split import Pair
from proxcal.procal import ProCal


@dataclass(frozen=True)
class Run:
    """`own_settings`: the package's in place of the paper's. `progress` is called as `evaluate`'s is."""

    protocol: Protocol
    inputs: Inputs
    own_settings: bool
    parts: Parts
    progress: Progress

    def calibrators(self, input: Input, **settings: Any) -> dict[str, ProCal]:
        """One for each method, not yet fitted."""
        bases = {method: METHODS[method] for method in self.protocol.methods}
        return make_calibrators(bases, paper=not self.own_settings, input=input, **settings)

    def part(self, done: int, total: int, key: str, measured: Callable[[], Sequence[Value]]) -> Sequence[Value]:
        """The values of a part: as they were kept, or measured now."""
        self.progress(done, total, key)
        kept = self.parts.done(key)
        return self.parts.keep(key, measured()) if kept is None else kept


class PairRow(NamedTuple):
    """Means over splits, times 100, of a base calibrator and the same with ours; `better` is None where both are equal.
    What the paper prints stands beside it, as it is in print."""

    model: str | None
    variant: str | None
    method: str
    metric: str
    base: float
    ours: float
    better: Side | None
    p_value: float | None
    significant: bool
    paper_base: str | None = None
    paper_ours: str | None = None
    paper_better: Side | None = None
    paper_significant: bool | None = None


def values_of(
    pair: Pair, model: str | None, seed: int | None, variant: str | None, method: str, p_values: dict[str, float]
) -> list[Value]:
    """Every metric of both, MCE weighted by the bins' shares, as in the paper's tables."""
    outcomes: dict[Side, Any] = {"base": pair.base, "ours": pair.ours}
    return [
        Value(model, seed, variant, method, side, metric, value, p_values.get(metric))
        for side, outcome in outcomes.items()
        for metric, value in measure(outcome, weighted_mce=True).items()
    ]


def pair_rows(
    values: Sequence[Value], protocol: Protocol, printed: Mapping[tuple[str | None, str, str], PrintedPair]
) -> list[PairRow]:
    """Base and ours of each model, variant, method and metric, over the seeds."""
    n_calibration, n_test = protocol.split or (1, 1)
    grouped: dict[tuple[str | None, str | None, str, str], dict[Side, list[Value]]] = defaultdict(
        lambda: {"base": [], "ours": []}
    )
    for value in values:
        grouped[value.model, value.variant, value.method, value.metric][value.side].append(value)
    rows = []
    for (model, variant, method, metric), sides in grouped.items():
        base, ours = (np.array([value.value for value in sides[side]]) for side in ("base", "ours"))
        p_value = over_splits(ours - base, n_test / n_calibration) if len(base) > 1 else sides["ours"][0].p_value
        better = better_of(metric, float(base.mean()), float(ours.mean()))
        row = PairRow(
            model,
            variant,
            method,
            metric,
            100 * float(base.mean()),
            100 * float(ours.mean()),
            better,
            p_value,
            better is not None and p_value is not None and p_value < protocol.level,
        )
        beside = printed.get((model, method, metric))
        rows.append(row if beside is None else row._replace(**{f"paper_{k}": v for k, v in beside._asdict().items()}))
    return rows
