import numpy as np
import pytest

from proxcal.experiments.measures import METRICS, bootstrap_differences, measure
from proxcal.experiments.split import Outcome, Pair


def outcome(n=400, shift=0.0, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.uniform(0.2, 1, n)
    correct = rng.random(n) < truth
    confidence = np.clip(truth + shift, 0.01, 0.99)
    losses = -np.log(np.where(correct, confidence, 1 - confidence))
    return Outcome(np.zeros(n, dtype=int), confidence, correct, rng.normal(size=n), losses)


def pair(n=400, shift=0.2, seed=0):
    return Pair(None, base=outcome(n, shift, seed), ours=outcome(n, 0.0, seed))


def by_bins(values, bins, drawn):
    return np.array([values[drawn][bins[drawn] == b].sum() for b in range(bins.max() + 1)])


def ece_bins(confidence):
    return np.minimum((15 * confidence).astype(int), 14)


@pytest.mark.parametrize("weighted", [False, True])
def test_replicates_are_the_metrics_of_resampled_samples_in_their_first_bins(weighted):
    both = pair(60)
    drawn = np.random.default_rng(5).integers(60, size=(3, 60))
    expected = {metric: [] for metric in ("ece", "mce", "nll", "accuracy", "multiclass_nll")}
    for replicate in drawn:
        found = []
        for o in (both.base, both.ours):
            bins = ece_bins(o.confidence)
            gap = np.abs(by_bins(o.correct - o.confidence, bins, replicate))
            size = np.maximum(by_bins(np.ones(60), bins, replicate), 1)
            p = np.where(o.correct, o.confidence, 1 - o.confidence)
            found.append(
                {
                    "ece": gap.sum() / 60,
                    "mce": (gap / (60 if weighted else size)).max(),
                    "nll": -np.log(p[replicate]).mean(),
                    "accuracy": o.correct[replicate].mean(),
                    "multiclass_nll": o.row_losses[replicate].mean(),
                }
            )
        for metric, values in expected.items():
            values.append(found[1][metric] - found[0][metric])
    differences = bootstrap_differences(both, weighted_mce=weighted, random_state=5, n_replicates=3)
    for metric, values in expected.items():
        np.testing.assert_allclose(differences[metric], values, atol=1e-12)


def test_the_spread_of_the_replicates_is_that_of_new_test_sets():
    fresh = []
    for seed in range(1, 151):
        both = pair(seed=seed)
        base, ours = (measure(o, weighted_mce=False) for o in (both.base, both.ours))
        fresh.append({m: ours[m] - base[m] for m in METRICS})
    replicates = bootstrap_differences(pair(), weighted_mce=False, random_state=0, n_replicates=400)
    for metric in ("ece", "ace", "nll", "brier"):
        assert replicates[metric].std() == pytest.approx(np.std([f[metric] for f in fresh]), rel=0.4)


def test_piece_minus_floor_moves_as_piece():
    differences = bootstrap_differences(pair(), weighted_mce=False, random_state=0, n_replicates=20)
    np.testing.assert_array_equal(differences["piece"], differences["piece_minus_floor"])


def test_the_same_random_state_draws_the_same():
    first, second = (bootstrap_differences(pair(), weighted_mce=False, random_state=4) for _ in range(2))
    for metric in METRICS:
        np.testing.assert_array_equal(first[metric], second[metric])


def test_a_method_differs_from_itself_in_nothing():
    same = Pair(None, base=outcome(), ours=outcome())
    differences = bootstrap_differences(same, weighted_mce=True, random_state=0, n_replicates=10)
    assert all((differences[metric] == 0).all() for metric in METRICS)
