"""Stages on a confidence, a proximity and whether it was right: the paper's Density-Ratio, and the four errors.

Density-Ratio is fitted and asked in the paper's coordinates, where statsmodels, which the paper used, computes the same
number.
"""

from importlib import import_module
from typing import Any, Literal

import numpy as np

from proxcal._validation import Array, Floats
from proxcal.experiments.bench.stage import Contestant, Stage, itself
from proxcal.experiments.bench.workload import Outcomes, Workload, simulated_outcomes
from proxcal.informed import DensityRatio
from proxcal.metrics import ace, ece, mce, piece

_BINS, _PROXIMITY_BINS = 15, 10

Both = tuple[Outcomes, Outcomes]


def _outcomes(workload: Workload) -> Both:
    return simulated_outcomes(workload.n), simulated_outcomes(workload.n, seed=1)


def _density_ratio(outcomes: Both, evaluation: Literal["grid", "exact"]) -> Floats:
    (confidence, proximity, correct), test = outcomes
    fitted = DensityRatio(coordinates="paper", evaluation=evaluation).fit(confidence, proximity, correct)
    return fitted.predict(test.confidence, test.proximity)


def _by_statsmodels(outcomes: Both) -> Floats:
    samples, test = outcomes
    estimator = import_module("statsmodels.nonparametric.kernel_density").KDEMultivariate
    columns = np.column_stack(samples[:2])
    right, wrong = (
        estimator(columns[side], "cc", "normal_reference").pdf(np.column_stack(test[:2]))
        for side in (samples.correct, ~samples.correct)
    )
    ratio: Floats = right / (right + np.sum(~samples.correct) / np.sum(samples.correct) * wrong)
    return ratio


def _errors(outcomes: Outcomes) -> Array:
    confidence, proximity, correct = outcomes
    known = confidence, correct
    return np.array([ece(*known), ace(*known), mce(*known), piece(*known, proximity)])


def _errors_by_pandas(outcomes: Outcomes) -> Array:
    pandas = import_module("pandas")
    frame = pandas.DataFrame(outcomes._asdict())
    width = pandas.cut(frame.confidence, np.linspace(0, 1, _BINS + 1), include_lowest=True)
    count = _equal_count(frame.confidence, _BINS)
    inner = frame.groupby(count)["proximity"].transform(lambda d: _equal_count(d, _PROXIMITY_BINS))
    tables = [_gaps(frame, keys) for keys in (width, count, [count, inner])]
    means = [float(gap @ size) / len(frame) for gap, size in tables]
    return np.array([means[0], means[1], float(tables[0][0].max()), means[2]])


def _equal_count(values: Any, n_bins: int) -> Any:
    return (values.rank(method="first").astype(int) - 1) * n_bins // len(values)


def _gaps(frame: Any, keys: Any) -> tuple[Any, Any]:
    groups = frame.groupby(keys, observed=True)
    return (groups["correct"].mean() - groups["confidence"].mean()).abs(), groups.size()


def _two_errors_by_netcal(outcomes: Outcomes) -> Array:
    metrics = import_module("netcal.metrics")
    confidence, correct = outcomes.confidence, outcomes.correct.astype(np.int64)
    return np.array([getattr(metrics, name)(_BINS).measure(confidence, correct) for name in ("ECE", "MCE")])


def _all_outcomes(workload: Workload) -> Outcomes:
    return simulated_outcomes(2 * workload.n)


DENSITY_RATIO = Stage(
    "density-ratio",
    "the paper's Density-Ratio: fit, and predict as many samples",
    _outcomes,
    (
        Contestant("proxcal, grid", lambda outcomes: _density_ratio(outcomes, "grid"), itself),
        Contestant("proxcal, exact", lambda outcomes: _density_ratio(outcomes, "exact"), itself),
    ),
    (Contestant("statsmodels", _by_statsmodels, itself, "statsmodels", "statsmodels"),),
    ("n",),
)
METRICS = Stage(
    "metrics",
    "ECE, ACE, MCE and PIECE of all samples",
    _all_outcomes,
    (Contestant("proxcal", _errors, itself),),
    (
        Contestant("pandas, grouped", _errors_by_pandas, itself, "pandas", "pandas"),
        Contestant("netcal, ECE and MCE alone", _two_errors_by_netcal, None, "netcal", "netcal"),
    ),
    ("n",),
)
