"""What a sweep says of a zoo of models: errors by calibrator, how many models are biased, and which family more.

A model's numbers are means over its random splits. These overlap, so its p-values are not independent; of K, the k-th
smallest gives one that holds whatever their dependence (Rüger, 1978; k is the middle, so that no one split decides):

    p = min(1, K/k · p_(k)),    k = ⌊K/2⌋ + 1

For families the models are the samples: Student's interval for one, Welch's for the difference of two.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t as student
from scipy.stats import ttest_ind

from proxcal.bias import adjust_p_values
from proxcal.bias.significance import CORRECTIONS
from proxcal.experiments._sweep_record import SweepRecord
from proxcal.experiments.measures import METRICS

RAW, OURS = "identity", "+ours"
LEVEL = 0.05
Model = Mapping[str, Any]


@dataclass(frozen=True)
class CalibratorSummary:
    """Means over models; of the `n_tested` with a bias index, how many have p < 0.05, as it is and adjusted."""

    calibrator: str
    n_models: int
    errors: Mapping[str, float]
    n_tested: int
    bias_index: float | None
    n_significant: int
    n_bonferroni: int
    n_benjamini_hochberg: int


@dataclass(frozen=True)
class FamilySummary:
    """Mean bias index of a family's models; of a single one there is no interval."""

    calibrator: str
    family: str
    n_models: int
    bias_index: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Contrast:
    """Mean bias index of one family less that of another, with Welch's 95 % interval and p-value."""

    calibrator: str
    families: tuple[str, str]
    difference: float
    low: float
    high: float
    p_value: float


@dataclass(frozen=True, eq=False)
class Sweep:
    """`records` are a model, seed and calibrator each; `errors` are the files that could not be used."""

    records: Sequence[SweepRecord]
    errors: Sequence[SweepRecord]

    @cached_property
    def models(self) -> list[dict[str, Any]]:
        """A row for each model and calibrator: means over seeds, and one p-value from them all; of one seed the bias
        index has its interval too."""
        groups: dict[tuple[str | None, str | None], list[SweepRecord]] = defaultdict(list)
        for record in self.records:
            groups[record.fingerprint, record.calibrator].append(record)
        models = [_over_seeds(rows) for rows in groups.values()]
        files: dict[str, set[str]] = defaultdict(set)
        for model in models:
            files[model["model"]].add(model["file"])
        return [
            model | {"model": "/".join(Path(model["file"]).with_suffix("").parts[-2:])}
            if len(files[model["model"]]) > 1
            else model
            for model in models
        ]

    @property
    def calibrators(self) -> list[CalibratorSummary]:
        return [_calibrator(name, rows) for name, rows in self._by_calibrator().items()]

    @property
    def families(self) -> list[FamilySummary]:
        return [
            _family(calibrator, family, values)
            for calibrator, rows in self._by_calibrator().items()
            for family, values in _indices_by_family(rows).items()
        ]

    def contrast(self, first: str = "transformer", second: str = "CNN") -> list[Contrast]:
        """For each calibrator the families' difference (upper and lower case alike), where either has two models."""
        found = (
            _contrast(name, _indices_by_family(rows), first, second) for name, rows in self._by_calibrator().items()
        )
        return [contrast for contrast in found if contrast is not None]

    def to_dict(self) -> dict[str, Any]:
        return {
            "calibrators": [asdict(summary) for summary in self.calibrators],
            "families": [asdict(summary) for summary in self.families],
            "contrasts": [asdict(contrast) for contrast in self.contrast()],
            "models": self.models,
            "records": [record._asdict() for record in self.records],
            "errors": [{"file": row.file, "seed": row.seed, "error": row.error} for row in self.errors],
        }

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=1)

    def _by_calibrator(self) -> dict[str, list[dict[str, Any]]]:
        groups: dict[str, list[dict[str, Any]]] = {}
        for model in self.models:
            groups.setdefault(model["calibrator"], []).append(model)
        return groups


def combined_p_value(p_values: Sequence[float]) -> float:
    """One p-value from several of the same question, however they depend on each other."""
    n, k = len(p_values), len(p_values) // 2 + 1
    return float(min(1.0, n / k * np.sort(p_values)[k - 1]))


def _over_seeds(rows: Sequence[SweepRecord]) -> dict[str, Any]:
    first = rows[0]
    tested = [(row.bias_index, row.p_value) for row in rows if row.bias_index is not None and row.p_value is not None]
    indices, p_values = zip(*tested, strict=True) if tested else ((), ())
    return {
        **{name: getattr(first, name) for name in ("model", "family", "parameters", "file", "calibrator")},
        "n_seeds": len(rows),
        "bias_index": _mean(indices),
        "p_value": combined_p_value(p_values) if tested else None,
        "bias_low": first.bias_low if len(rows) == 1 else None,
        "bias_high": first.bias_high if len(rows) == 1 else None,
        **{metric: float(np.mean([getattr(row, metric) for row in rows])) for metric in METRICS},
    }


def _calibrator(name: str, rows: Sequence[Model]) -> CalibratorSummary:
    tested = [row for row in rows if row["p_value"] is not None]
    p_values = [row["p_value"] for row in tested]
    adjusted: list[ArrayLike] = [adjust_p_values(p_values, method) if tested else [] for method in CORRECTIONS]
    return CalibratorSummary(
        name,
        len(rows),
        {metric: float(np.mean([row[metric] for row in rows])) for metric in METRICS},
        len(tested),
        _mean([row["bias_index"] for row in tested]),
        *(int(np.sum(np.asarray(values) < LEVEL)) for values in (p_values, *adjusted)),
    )


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def _indices_by_family(rows: Iterable[Model]) -> dict[str, list[float]]:
    groups: dict[str, list[float]] = {}
    for row in rows:
        if row["family"] is not None and row["bias_index"] is not None:
            groups.setdefault(row["family"], []).append(row["bias_index"])
    return dict(sorted(groups.items()))


def _family(calibrator: str, family: str, values: Sequence[float]) -> FamilySummary:
    n, mean = len(values), float(np.mean(values))
    if n == 1:
        return FamilySummary(calibrator, family, n, mean, None, None)
    half = float(student.ppf(1 - LEVEL / 2, n - 1) * np.std(values, ddof=1) / np.sqrt(n))
    return FamilySummary(calibrator, family, n, mean, mean - half, mean + half)


def _contrast(calibrator: str, families: Mapping[str, Sequence[float]], first: str, second: str) -> Contrast | None:
    named = {name.casefold(): (name, values) for name, values in families.items()}
    (a, of_a), (b, of_b) = (named.get(name.casefold(), (name, ())) for name in (first, second))
    if min(len(of_a), len(of_b)) < 2 or np.ptp(of_a) + np.ptp(of_b) == 0:
        return None
    test = ttest_ind(of_a, of_b, equal_var=False)
    low, high = test.confidence_interval(1 - LEVEL)
    difference = float(np.mean(of_a) - np.mean(of_b))
    return Contrast(calibrator, (a, b), difference, float(low), float(high), float(test.pvalue))
