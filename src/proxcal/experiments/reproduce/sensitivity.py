"""The paper's studies of what proximity is made of: the number of neighbours K, and the distance.

One ruler measures all variants: PIECE's proximity is that of K = 10 by exact L2, whatever proximity corrected by.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from proxcal._extras import require
from proxcal._validation import Floats
from proxcal.bundle import Predictions
from proxcal.experiments.evaluate import SEEDS
from proxcal.experiments.reproduce.inputs import Split, random_split
from proxcal.experiments.reproduce.parts import Value
from proxcal.experiments.reproduce.protocols import DISTANCES, NEIGHBORS
from proxcal.experiments.reproduce.run import PairRow, Run, pair_rows, values_of
from proxcal.experiments.split import Pair, run_split

Measured = Callable[[Run, Split], Sequence[Value]]

K = 10  # of the ruler


def vary_neighbors(run: Run) -> tuple[list[PairRow], list[Value]]:
    """Base and ours with K = 1 to 1000 neighbours, as far as there are so many; one search a split serves all."""
    return _study(run, _with_neighbors)


def vary_distance(run: Run) -> tuple[list[PairRow], list[Value]]:
    """Base and ours with each distance, and index."""
    require("faiss", "faiss", "IVFFlat and IVFPQ")
    return _study(run, _with_distances)


def _study(run: Run, measured: Measured) -> tuple[list[PairRow], list[Value]]:
    hold_out = run.inputs.only("predictions")
    values: list[Value] = []
    for i, seed in enumerate(SEEDS):
        values += run.part(i, len(SEEDS), str(seed), partial(_of_seed, run, hold_out, seed, measured))
    return pair_rows(values, run.protocol, {}), values


def _of_seed(run: Run, hold_out: Predictions, seed: int, measured: Measured) -> Sequence[Value]:
    return measured(run, random_split(run.protocol, hold_out, seed))


def _with_neighbors(run: Run, split: Split) -> Sequence[Value]:
    calibrators, variants = {}, {}
    for k in (K, *(k for k in NEIGHBORS if k != K)):
        if k < len(split.calibration):
            for method, calibrator in run.calibrators(split.calibration.input, n_neighbors=k).items():
                calibrators[f"{method} {k}"], variants[f"{method} {k}"] = calibrator, (method, str(k))
    by_variant: dict[tuple[str, str], Sequence[Value]] = {}
    ruler: Floats | None = None
    for name, pair in run_split(split.calibration, split.test, calibrators):
        ruler = pair.ours.log_proximity if ruler is None else ruler
        method, variant = variants[name]
        by_variant[variant, method] = values_of(_measured_by(ruler, pair), None, split.seed, variant, method, {})
    in_order = sorted(by_variant, key=lambda place: int(place[0]))
    return [value for place in in_order for value in by_variant[place]]


def _with_distances(run: Run, split: Split) -> Sequence[Value]:
    values: list[Value] = []
    ruler: Floats | None = None
    for distance, settings in DISTANCES.items():
        calibrators = run.calibrators(split.calibration.input, **settings)
        for method, pair in run_split(split.calibration, split.test, calibrators):
            ruler = pair.ours.log_proximity if ruler is None else ruler
            values += values_of(_measured_by(ruler, pair), None, split.seed, distance, method, {})
    return values


def _measured_by(ruler: Floats, pair: Pair) -> Pair:
    base, ours = (replace(outcome, log_proximity=ruler) for outcome in (pair.base, pair.ours))
    return replace(pair, base=base, ours=ours)
