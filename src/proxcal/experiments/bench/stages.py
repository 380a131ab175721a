"""The stages in the order they are run, and the sizes they are run at."""

from typing import NamedTuple

from proxcal.experiments.bench.confidence_stages import DENSITY_RATIO, METRICS
from proxcal.experiments.bench.inference_stage import INFERENCE
from proxcal.experiments.bench.neighbor_stages import BEYOND_SEARCH, PROCAL, PROXIMITY, VOTES
from proxcal.experiments.bench.score_stages import (
    ENSEMBLE_TEMPERATURE,
    HISTOGRAM,
    ISOTONIC,
    MULTI_ISOTONIC,
    TEMPERATURE,
)
from proxcal.experiments.bench.stage import Stage
from proxcal.experiments.bench.workload import Workload
from proxcal.experiments.evaluate import SEEDS

STAGES: dict[str, Stage] = {
    stage.name: stage
    for stage in (
        PROXIMITY,
        DENSITY_RATIO,
        TEMPERATURE,
        ENSEMBLE_TEMPERATURE,
        HISTOGRAM,
        ISOTONIC,
        MULTI_ISOTONIC,
        VOTES,
        METRICS,
        BEYOND_SEARCH,
        PROCAL,
        INFERENCE,
    )
}


class Size(NamedTuple):
    """A workload, how often it is halved to see how cost grows, how many turns contestants take unless told, and the
    seeds of the random halves on which quality is measured."""

    name: str
    workload: Workload
    n_halvings: int
    repeats: int
    seeds: tuple[int, ...]

    def growing(self, axis: str) -> list[int]:
        full = getattr(self.workload, axis)
        return [full >> halvings for halvings in range(self.n_halvings, -1, -1)]


SIZES = {
    size.name: size
    for size in (
        Size("small", Workload(4000, 256, 50), 3, 5, SEEDS[:2]),
        Size("paper", Workload(25_000, 2048, 1000), 4, 3, SEEDS[:3]),
    )
}
