import json

import numpy as np
import pytest
from scipy import stats

from proxcal.experiments import SweepRecord
from proxcal.experiments.measures import METRICS
from proxcal.experiments.zoo import Sweep, combined_p_value

NUMBERS = dict.fromkeys(METRICS, 0.1)


def record(model, index, p_value, *, family=None, seed=1, calibrator="identity", **numbers):
    return SweepRecord(
        model,
        f"{model}.npz",
        family,
        seed=seed,
        calibrator=calibrator,
        fingerprint=model,
        bias_index=index,
        p_value=p_value,
        **(NUMBERS | numbers),
    )


def zoo_of(families):
    """Models named a, b, ... with these bias indices by family."""
    pairs = [(family, index) for family, indices in families.items() for index in indices]
    return Sweep([record(f"m{i}", index, 0.5, family=family) for i, (family, index) in enumerate(pairs)], [])


@pytest.mark.parametrize(
    ("p_values", "combined"),
    [([0.03], 0.03), ([0.01, 0.04], 0.04), ([0.01, 0.02, 0.9], 0.03), ([0.9, 0.8, 0.7], 1.0)],
)
def test_p_values_of_several_seeds_are_combined_by_the_middle_one(p_values, combined):
    assert combined_p_value(p_values) == pytest.approx(combined)


@pytest.mark.parametrize("n_seeds", [1, 2, 3, 5])
@pytest.mark.parametrize("shared", [0.0, 0.5, 0.99])
def test_the_combined_p_value_keeps_its_level_whatever_the_dependence(n_seeds, shared):
    rng = np.random.default_rng(0)
    z = np.sqrt(shared) * rng.normal(size=(4000, 1)) + np.sqrt(1 - shared) * rng.normal(size=(4000, n_seeds))
    combined = [combined_p_value(row) for row in stats.norm.sf(z)]
    assert np.mean(np.array(combined) < 0.05) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 4000)


def test_a_models_numbers_are_means_over_its_seeds():
    rows = [record("a", index, 0.02, seed=seed, ece=ece) for seed, index, ece in ((1, 0.1, 0.2), (2, 0.3, 0.4))]
    (model,) = Sweep(rows, []).models
    assert model["n_seeds"] == 2
    assert (model["bias_index"], model["ece"], model["p_value"]) == pytest.approx((0.2, 0.3, 0.02))


def test_a_seed_without_a_bias_index_does_not_count_in_it():
    (model,) = Sweep([record("a", 0.1, 0.02), record("a", None, None, seed=2)], []).models
    assert (model["bias_index"], model["p_value"]) == pytest.approx((0.1, 0.02))


def test_models_of_one_name_are_told_apart_by_their_folders():
    rows = [record("m", 0.1, 0.5)._replace(file=f"/zoo/{folder}/m.npz", fingerprint=folder) for folder in "xy"]
    assert [model["model"] for model in Sweep([*rows, record("n", 0.1, 0.5)], []).models] == ["x/m", "y/m", "n"]


def test_biased_models_are_counted_as_they_are_and_adjusted():
    p_values = [0.001, 0.012, 0.02, 0.038, 0.9]
    (summary,) = Sweep([record(f"m{i}", 0.1, p) for i, p in enumerate(p_values)], []).calibrators
    by_hand = sum(p * 5 < 0.05 for p in p_values)
    step_up = max(rank for rank, p in enumerate(sorted(p_values), 1) if p <= 0.05 * rank / 5)
    assert (summary.n_tested, summary.n_significant) == (5, 4)
    assert (summary.n_bonferroni, summary.n_benjamini_hochberg) == (by_hand, step_up)


def test_summaries_are_by_calibrator():
    rows = [record("a", 0.1, 0.5, calibrator=name, ece=ece) for name, ece in (("identity", 0.3), ("temperature", 0.1))]
    found = Sweep(rows, []).calibrators
    assert [(s.calibrator, s.errors["ece"]) for s in found] == [("identity", 0.3), ("temperature", 0.1)]


def test_a_familys_interval_is_students():
    values = [0.1, 0.25, 0.2]
    (found,) = zoo_of({"CNN": values}).families
    low, high = stats.t.interval(0.95, 2, np.mean(values), stats.sem(values))
    assert (found.n_models, found.bias_index, found.low, found.high) == pytest.approx((3, np.mean(values), low, high))


def test_a_family_of_one_model_has_no_interval():
    (found,) = zoo_of({"CNN": [0.1]}).families
    assert (found.bias_index, found.low, found.high) == (0.1, None, None)


def test_the_difference_of_families_is_welchs():
    of_cnn, of_transformer = [0.05, 0.1, 0.02], [0.2, 0.4]
    (found,) = zoo_of({"CNN": of_cnn, "Transformer": of_transformer, "MLP": [0.9]}).contrast()
    variances = [np.var(v, ddof=1) / len(v) for v in (of_transformer, of_cnn)]
    freedom = sum(variances) ** 2 / (variances[0] ** 2 / 1 + variances[1] ** 2 / 2)
    difference, error = np.mean(of_transformer) - np.mean(of_cnn), np.sqrt(sum(variances))
    half = stats.t.ppf(0.975, freedom) * error
    assert found.families == ("Transformer", "CNN")
    assert (found.difference, found.low, found.high) == pytest.approx(
        (difference, difference - half, difference + half)
    )
    assert found.p_value == pytest.approx(2 * stats.t.sf(difference / error, freedom))


@pytest.mark.parametrize(
    "families",
    [{"CNN": [0.1, 0.2]}, {"CNN": [0.1, 0.2], "transformer": [0.3]}, {"CNN": [0.1, 0.1], "transformer": [0.1, 0.1]}],
)
def test_where_families_cannot_be_compared_there_is_no_contrast(families):
    assert zoo_of(families).contrast() == []


def test_models_without_a_family_are_in_none():
    assert Sweep([record("a", 0.1, 0.5)], []).families == []


def test_json_has_no_nan():
    sweep = Sweep([record("a", None, None, family="CNN"), record("b", 0.1, 0.5, family="CNN")], [])
    assert "NaN" not in sweep.to_json()
    assert json.loads(sweep.to_json()) == json.loads(json.dumps(sweep.to_dict()))
