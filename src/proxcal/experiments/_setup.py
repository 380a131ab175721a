"""What a protocol is asked to run, checked before the first search: what would otherwise come to light in the last
fit."""

from collections.abc import Mapping, Sequence
from typing import Any

from proxcal._validation import check_choice, check_integer
from proxcal.bundle import Predictions
from proxcal.procal import ProCal
from proxcal.rows import MODES

PAPER_BASES = (
    "identity",
    "temperature",
    "ensemble-temperature",
    "parameterized-temperature",
    "neighbor-temperature",
    "histogram",
    "isotonic",
    "multi-isotonic",
)
Bases = Sequence[Any] | str


def check_bases(bases: Bases) -> dict[str, Any]:
    """The base calibrators by name: those of the paper for "all"."""
    if isinstance(bases, str) and bases == "all":
        bases = PAPER_BASES
    if isinstance(bases, str) or not len(bases):
        raise ValueError(f"bases must be a list of one base calibrator or more; got {bases!r}")
    names = [base if isinstance(base, str) else type(base).__name__ for base in bases]
    if len(set(names)) < len(names):
        raise ValueError(f"bases has one of {', '.join(names)} twice; give each once")
    return dict(zip(names, bases, strict=True))


def check_seeds(seeds: Sequence[int]) -> list[int]:
    chosen = [check_integer("seeds", seed, at_least=0) for seed in seeds]
    if not chosen or len(set(chosen)) < len(chosen):
        raise ValueError(f"seeds must be whole numbers, one or more, each once; got {list(seeds)}")
    return chosen


def check_complete(name: str, predictions: Predictions) -> None:
    for array, why in (("labels", "nothing can be judged"), ("features", "there is no proximity")):
        if getattr(predictions, array) is None:
            raise ValueError(f"{name} has no {array}: without them {why}")


def make_calibrators(bases: Mapping[str, Any], *, paper: bool, **settings: Any) -> dict[str, ProCal]:
    """A ProCal for each base, not yet fitted; the paper's own where `paper`."""
    make = ProCal.paper if paper else ProCal
    calibrators = {name: make(base=base, **settings) for name, base in bases.items()}
    for calibrator in calibrators.values():
        check_choice("rows", calibrator.rows, MODES)
        calibrator._n_searched()
    return calibrators
