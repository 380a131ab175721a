"""The paper's tables of calibration errors: every base calibrator alone and with ours, on the splits of appendix D."""

from collections.abc import Sequence
from functools import partial

from proxcal.bundle import Predictions
from proxcal.experiments.evaluate import SEEDS
from proxcal.experiments.measures import bootstrap_differences, measure
from proxcal.experiments.paired import over_replicates
from proxcal.experiments.reproduce.inputs import Split, random_split
from proxcal.experiments.reproduce.parts import Value
from proxcal.experiments.reproduce.printed import printed_pairs
from proxcal.experiments.reproduce.run import PairRow, Run, pair_rows, values_of
from proxcal.experiments.split import Pair, run_split

RANDOM_STATE = 0  # of the bootstrap


def compare(run: Run) -> tuple[list[PairRow], list[Value]]:
    """Means over splits beside what the paper prints, and the values of every split."""
    values: list[Value] = []
    models = _models(run)
    seeds: Sequence[int | None] = [None] if run.protocol.split is None else SEEDS
    for i, (model, predictions) in enumerate(models.items()):
        for j, seed in enumerate(seeds):
            key = " ".join(str(part) for part in (model, seed) if part is not None) or "the split given"
            done = i * len(seeds) + j
            values += run.part(done, len(models) * len(seeds), key, partial(_measured, run, model, predictions, seed))
    return pair_rows(values, run.protocol, printed_pairs(run.protocol.name)), values


def _models(run: Run) -> dict[str | None, Predictions]:
    """Each network's hold-out or calibration samples, by the paper's name for it where the table is about several."""
    first = run.inputs.by_role[run.protocol.needs[0].role]
    networks = list(dict.fromkeys(model for model, _, _ in printed_pairs(run.protocol.name) if model is not None))
    if not networks:
        (only,) = first.values()
        return {None: only}
    models: dict[str | None, Predictions] = {}
    for name, predictions in first.items():
        model = next((network for network in networks if network.lower() in name.lower()), name)
        if model in models:
            raise ValueError(f"two files are {model} by their names; tell them apart as NAME=FILE")
        models[model] = predictions
    return models


def _measured(run: Run, model: str | None, predictions: Predictions, seed: int | None) -> Sequence[Value]:
    if seed is None:
        split = Split(None, predictions, run.inputs.only("test"))
    else:
        split = random_split(run.protocol, predictions, seed)
    values = []
    for method, pair in run_split(split.calibration, split.test, run.calibrators(predictions.input)):
        values += values_of(pair, model, seed, None, method, _p_values(pair) if seed is None else {})
    return values


def _p_values(pair: Pair) -> dict[str, float]:
    """Of the differences on one split, by metric."""
    replicates = bootstrap_differences(pair, weighted_mce=True, random_state=RANDOM_STATE)
    base, ours = (measure(outcome, weighted_mce=True) for outcome in (pair.base, pair.ours))
    return {metric: over_replicates(ours[metric] - base[metric], replicates[metric]) for metric in replicates}
