"""From predictions to the facts: one split, three confidences (the model's, the base's, ProCal's), each judged alike.

Everything said is of test samples alone, on which neither the model nor a calibrator was fitted. What the calculation
warns of is kept as a limit of the report, and given to the caller too.
"""

import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from numpy.typing import ArrayLike

from proxcal._validation import ProxcalWarning, check_integer
from proxcal.base import ForeignCalibrator, Identity
from proxcal.bias import OverfittingByProximity, overfitting_by_proximity
from proxcal.bundle import split_rows
from proxcal.experiments import SEEDS, Pair, informed_name
from proxcal.experiments._setup import check_complete, make_calibrators
from proxcal.experiments.split import run_split
from proxcal.procal import ProCal
from proxcal.report._sources import Given, Source
from proxcal.report.facts import Audit, Stage
from proxcal.report.limits import limits
from proxcal.report.repeat import command, versions
from proxcal.report.samples import most_overconfident
from proxcal.report.stages import compare, describe
from proxcal.report.verdict import summarize

FEWEST = 10
AS_IS = "Model as it is"
PROCAL = "After ProCal"
N_STEPS = 6
N_RESAMPLES = 1000
Progress = Callable[[int, int, str], None]


def audit(
    predictions: Given,
    *,
    calibration: Given | None = None,
    train: Given | None = None,
    ids: ArrayLike | None = None,
    images: ArrayLike | None = None,
    base: Any = "temperature",
    paper: bool = False,
    seed: int = SEEDS[0],
    fraction: float = 0.5,
    prefix: str = "",
    train_prefix: str | None = None,
    n_resamples: int = N_RESAMPLES,
    progress: Progress | None = None,
    **settings: Any,
) -> Audit:
    """Whether confidence has proximity bias, before and after ProCal, with its certainty and its limits.

    Parameters
    ----------
    predictions : a `Predictions`, or the path of a file of them, with labels and features of samples that the model
        was not trained on. A random part of them calibrates, unless `calibration` is given; the rest is judged.
    calibration : the calibration samples; all of `predictions` is then judged.
    train : predictions on samples the model was trained on, to show overfitting by proximity.
    ids, images : what to show each sample of `predictions` by; otherwise the arrays of that name in its file, if any.
    base, settings : of `ProCal`: informed, rows, n_neighbors, metric, normalize; `paper=True` for the paper's own.
    seed, fraction : of the random split, and the share that calibrates.
    prefix, train_prefix : what precedes the arrays' names in the files; in that of `train` too unless told.
    n_resamples : draws behind each interval.
    progress : called before each step with the number done, the number in all, and what comes.
    """
    move = progress or (lambda done, total, what: None)
    move(0, N_STEPS, "reading")
    at_random = {"seed": seed, "fraction": fraction} if calibration is None else {}
    whole = Source.of(predictions, prefix=prefix, ids=ids, images=images)
    sources = _calibration_and_test(
        whole, None if calibration is None else Source.of(calibration, prefix=prefix), at_random
    )
    if train is not None:
        sources["train"] = Source.of(train, prefix=prefix if train_prefix is None else train_prefix)
    _check(sources)
    with _kept_warnings() as warned:
        move(1, N_STEPS, "fitting")
        pairs = _fit(sources, base, paper, settings)
        stages = _judge(pairs, n_resamples, move)
        move(N_STEPS - 1, N_STEPS, "comparing")
        found = _facts(sources, pairs, stages, n_resamples)
    given = {"calibration": calibration, "train": train, "train_prefix": train_prefix, "ids": ids, "images": images}
    given |= {"prefix": prefix or None, "n_resamples": None if n_resamples == N_RESAMPLES else n_resamples}
    given = {name: value for name, value in given.items() if value is not None} | at_random | {"base": base}
    return Audit(
        **found,
        stages=stages,
        limits=limits(stages, len(sources["calibration"].rows), list(dict.fromkeys(warned))),
        settings=at_random | {"paper": paper, "n_resamples": n_resamples} | _parameters(pairs["base"].calibrator),
        versions=versions(),
        command=command(predictions, given | ({"paper": True} if paper else {}) | settings),
    )


def _calibration_and_test(whole: Source, calibration: Source | None, at_random: Mapping[str, Any]) -> dict[str, Source]:
    """Two random parts of the whole, or the whole to be judged where calibration samples are given."""
    if calibration is not None:
        return {"calibration": calibration, "test": whole}
    check_integer("seed", at_random["seed"], at_least=0)
    first, second = split_rows(len(whole.rows), at_random["fraction"], at_random["seed"])
    return {"calibration": whole.take(first), "test": whole.take(second)}


def _check(sources: Mapping[str, Source]) -> None:
    for name, source in sources.items():
        check_complete(source.path or name, source.predictions)
    n = len(sources["test"].rows)
    if n < FEWEST:
        raise ValueError(
            f"predictions leaves {n} test samples, from which nothing can be concluded; give {FEWEST} or more"
        )


def _fit(sources: Mapping[str, Source], base: Any, paper: bool, settings: Mapping[str, Any]) -> dict[str, Pair]:
    """The base calibrator with and without proximity, and the model as it is: fitted, and on the test samples."""
    calibration, test = sources["calibration"].predictions, sources["test"].predictions
    own = {"paper": paper, "input": calibration.input, **settings}
    calibrators = make_calibrators({"base": base}, **own)
    calibrators |= make_calibrators({"model": "identity"}, **(own | {"informed": None}))
    return dict(run_split(calibration, test, calibrators))


def _judge(pairs: Mapping[str, Pair], n_resamples: int, move: Progress) -> list[Stage]:
    """The model, the base and ProCal; only the last two where the base is the model as it is."""
    model, base = pairs["model"].base, pairs["base"]
    outcomes = {"model": (AS_IS, model), "base": (_title(base.calibrator), base.base), "ours": (PROCAL, base.ours)}
    if isinstance(base.calibrator.base_, Identity):
        outcomes.pop("model")
    stages: list[Stage] = []
    for name, (title, outcome) in outcomes.items():
        move(2 + len(stages), N_STEPS, f"judging: {title}")
        stages.append(describe(name, title, outcome, model.predicted, n_resamples))
    return stages


def _title(calibrator: ProCal) -> str:
    """What the base is called in words: those of its class's name, or the name of somebody's own class."""
    base = calibrator.base_
    if isinstance(base, Identity):
        return AS_IS
    if isinstance(base, ForeignCalibrator):
        return f"After {type(base.calibrator).__name__}"
    return f"After {re.sub('(?<=[a-z])(?=[A-Z])', ' ', type(base).__name__).lower()}"


def _facts(
    sources: Mapping[str, Source], pairs: Mapping[str, Pair], stages: Sequence[Stage], n_resamples: int
) -> dict[str, Any]:
    calibrator, (before, after) = pairs["base"].calibrator, stages[-2:]
    sizes = {name: len(source.rows) for name, source in sources.items()}
    return {
        "summary": _summary(stages, calibrator.informed_ is not None),
        "comparison": compare(before.outcome, after.outcome, n_resamples),
        "correction": {"informed": informed_name(calibrator), **(calibrator.selection_ or {})},
        "accuracy_change": getattr(calibrator.base_, "accuracy_change_", None),
        "overconfident": most_overconfident(sources["test"], stages),
        "overfitting": _overfitting(sources, pairs),
        "samples": sizes | {"classes": calibrator.n_classes_, "wrong": int((~before.outcome.correct).sum())},
        "sources": {name: {"file": source.path, "sha256": source.sha256} for name, source in sources.items()},
    }


def _summary(stages: Sequence[Stage], corrected: bool) -> str:
    """Of every stage, but the last where it is the one before."""
    told = stages if corrected else stages[:-1]
    places = {f"in the {stage.lower_title}" if stage.title == AS_IS else stage.lower_title: stage for stage in told}
    summary = summarize({place: stage.verdict for place, stage in places.items()})
    return summary if corrected else f"{summary} ProCal leaves the confidence as it is."


def _overfitting(sources: Mapping[str, Source], pairs: Mapping[str, Pair]) -> OverfittingByProximity | None:
    """Of the model's own predictions; both proximities are to the calibration samples."""
    if "train" not in sources:
        return None
    train, held_out = sources["train"].predictions, pairs["model"].base
    correct = train.scores.argmax(axis=1) == train.labels
    proximity = pairs["base"].calibrator.proximity_.log_score(train.features)
    try:
        return overfitting_by_proximity(correct, proximity, held_out.correct, held_out.log_proximity)
    except ValueError as error:
        warnings.warn(f"overfitting by proximity cannot be told: {error}", ProxcalWarning, stacklevel=2)
        return None


def _parameters(calibrator: ProCal) -> dict[str, Any]:
    """ProCal's arguments, objects as they print themselves."""
    plain = str | int | float | None
    return {
        name: value if isinstance(value, plain) else repr(value)
        for name, value in calibrator.get_params(deep=False).items()
    }


@contextmanager
def _kept_warnings() -> Iterator[list[str]]:
    """The package's warnings within, said outside as well."""
    messages: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ProxcalWarning)
        yield messages
        messages += [str(each.message) for each in caught if issubclass(each.category, ProxcalWarning)]
    for each in caught:
        warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
