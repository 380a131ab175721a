"""The paper's table: base calibrators alone and with proximity, on samples that neither has seen.

Each file is split at random, once a seed, into calibration and test samples; or one split is given. Values are means
over seeds, and a paired test says whether a difference is more than chance.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from proxcal._validation import Floats
from proxcal.bundle import Predictions
from proxcal.experiments._setup import Bases, check_bases, check_complete, check_seeds, make_calibrators
from proxcal.experiments.evaluation import Choice, Comparison, Evaluation, Method, Record
from proxcal.experiments.measures import LARGER_IS_BETTER, METRICS, bootstrap_differences, measure
from proxcal.experiments.paired import over_replicates, over_splits
from proxcal.experiments.split import Pair, informed_name, run_split

SEEDS = (2020, 2021, 2022, 2023, 2024)
Progress = Callable[[int, int, str], None]


class _Split(NamedTuple):
    file: str
    seed: int | None
    calibration: Predictions
    test: Predictions


def evaluate(
    predictions: Predictions | Mapping[str, Predictions],
    *,
    test: Predictions | None = None,
    bases: Bases = ("identity", "temperature"),
    seeds: Sequence[int] = SEEDS,
    fraction: float = 0.5,
    paper: bool = False,
    random_state: int = 0,
    progress: Progress | None = None,
    **settings: Any,
) -> Evaluation:
    """Compare base calibrators alone and with proximity, by every metric.

    Parameters
    ----------
    predictions : one model's predictions, or several by name.
    test : the test samples; all of `predictions` then calibrates, and there is one split.
    bases : names, or objects with `fit(probs, y)` and `predict_proba(probs)`; "all" for the eight of the paper.
    seeds, fraction : one random split a seed, with this share for calibration.
    paper : the paper's settings for each base, and its weighted MCE.
    random_state : draws folds and bootstrap samples.
    progress : called before each fit with the number done, the number in all, and what comes.
    settings : of `ProCal`: informed, rows, n_neighbors, metric, normalize, index.
    """
    files = {"predictions": predictions} if isinstance(predictions, Predictions) else dict(predictions)
    for name, given in files.items() if test is None else [*files.items(), ("test", test)]:
        check_complete(name, given)
    splits, n_splits = _splits(files, test, seeds, fraction)
    named = check_bases(bases)
    tally = _Tally(list(named), n_seeds=n_splits // len(files), weighted_mce=paper, random_state=random_state)
    done = 0
    for split in splits:
        calibrators = make_calibrators(
            named, paper=paper, input=split.calibration.input, random_state=random_state, **settings
        )
        pairs = run_split(split.calibration, split.test, calibrators)
        for name in named:
            if progress is not None:
                seed = "" if split.seed is None else f", seed {split.seed}"
                progress(done, n_splits * len(named), f"{name}{seed}, {split.file}")
            tally.add(split, *next(pairs))
            done += 1
        del pairs, calibrators, split  # before the next is made, for each may be large
    return tally.evaluation()


def _splits(
    files: Mapping[str, Predictions], test: Predictions | None, seeds: Sequence[int], fraction: float
) -> tuple[Iterator[_Split], int]:
    """The splits, made as they are asked for, and how many they are."""
    if not files:
        raise ValueError("predictions is empty; give at least one")
    if test is not None:
        if len(files) > 1:
            raise ValueError(f"test goes with one file of calibration samples; predictions has {len(files)}")
        return (_Split(name, None, whole, test) for name, whole in files.items()), 1
    chosen = check_seeds(seeds)
    return (
        _Split(name, seed, *whole.split(fraction, random_state=seed))
        for name, whole in files.items()
        for seed in chosen
    ), len(files) * len(chosen)


class _Tally:
    """Takes the pairs as they come, keeps their numbers, and compares in the end."""

    def __init__(self, bases: Sequence[str], *, n_seeds: int, weighted_mce: bool, random_state: int) -> None:
        self.bases = bases
        self.n_seeds = n_seeds
        self.weighted_mce = weighted_mce
        self.random_state = random_state
        self.records: list[Record] = []
        self.choices: list[Choice] = []
        self.values: dict[tuple[str, str], list[dict[str, tuple[float, float]]]] = defaultdict(list)
        self.replicates: dict[tuple[str, str], dict[str, Floats]] = {}
        self.pairs: dict[str, Pair] = {}
        self.test_per_calibration = 1.0

    def add(self, split: _Split, base: str, pair: Pair) -> None:
        file, seed = split.file, split.seed
        measured: dict[Method, dict[str, float]] = {
            "base": measure(pair.base, weighted_mce=self.weighted_mce),
            "ours": measure(pair.ours, weighted_mce=self.weighted_mce),
        }
        for method, values in measured.items():
            self.records += [Record(file, seed, base, method, metric, value) for metric, value in values.items()]
        self.values[file, base].append({m: (measured["base"][m], measured["ours"][m]) for m in METRICS})
        selection = pair.calibrator.selection_ or {}
        reason, base_chosen = selection.get("reason"), selection.get("base", {}).get("chosen")
        change = getattr(pair.calibrator.base_, "accuracy_change_", None)
        self.choices.append(Choice(file, seed, base, informed_name(pair.calibrator), reason, change, base_chosen))
        self.test_per_calibration = len(split.test) / len(split.calibration)
        if seed is None:
            self.pairs[base] = pair
        if self.n_seeds == 1:
            self.replicates[file, base] = bootstrap_differences(
                pair, weighted_mce=self.weighted_mce, random_state=self.random_state
            )

    def evaluation(self) -> Evaluation:
        files = list(dict.fromkeys(file for file, _ in self.values))
        groups: list[tuple[str | None, list[str]]] = [(file, [file]) for file in files]
        if len(files) > 1:
            groups.append((None, files))
        summary = [
            self._comparison(name, members, base, metric)
            for name, members in groups
            for base in self.bases
            for metric in METRICS
        ]
        test = f"paired t-test over {self.n_seeds} splits" if self.n_seeds > 1 else "paired bootstrap of test samples"
        return Evaluation(self.records, summary, self.choices, test, self.weighted_mce, self.pairs)

    def _comparison(self, name: str | None, files: Sequence[str], base: str, metric: str) -> Comparison:
        """Means over files for each seed, then over seeds."""
        values = np.mean([[of_seed[metric] for of_seed in self.values[file, base]] for file in files], axis=0)
        differences = values[:, 1] - values[:, 0]
        if self.n_seeds > 1:
            p_value = over_splits(differences, self.test_per_calibration)
        else:
            replicates = np.mean([self.replicates[file, base][metric] for file in files], axis=0)
            p_value = over_replicates(float(differences[0]), replicates)
        base_value, ours_value = values.mean(axis=0)
        return Comparison(
            name, base, metric, float(base_value), float(ours_value), better_of(metric, base_value, ours_value), p_value
        )


def better_of(metric: str, base: float, ours: float) -> Method | None:
    if base == ours:
        return None
    return "ours" if (ours > base) == (metric in LARGER_IS_BETTER) else "base"
