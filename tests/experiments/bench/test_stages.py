"""Oracles: the peers themselves, those that are installed, on a small workload."""

import warnings

import numpy as np
import pytest

from proxcal.experiments.bench.contest import SMALL
from proxcal.experiments.bench.stages import SIZES, STAGES
from proxcal.experiments.bench.workload import simulated
from proxcal.informed import NeighborhoodLogistic
from proxcal.procal import ProCal

EQUAL = {  # what two that compute the same may differ by
    ("proximity", "faiss IndexFlatL2"): 1e-6,
    ("proximity", "scikit-learn brute"): 1e-6,
    ("density-ratio", "statsmodels"): 1e-4,  # the grid's
    ("temperature", "BFGS over log_loss"): 1e-3,
    ("temperature", "scikit-learn"): 1e-3,
    ("isotonic", "scikit-learn"): 1e-9,
    ("multi-isotonic", "scikit-learn, flattened"): 1e-9,
    ("metrics", "pandas, grouped"): 1e-12,
}


@pytest.mark.parametrize(("name", "peer_name"), EQUAL)
def test_ours_and_the_peer_answer_the_same(name, peer_name):
    stage = STAGES[name]
    (peer,) = [peer for peer in stage.peers if peer.name == peer_name]
    if peer.module is not None:
        pytest.importorskip(peer.module)
    inputs = stage.inputs(SMALL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = peer.answer(inputs, peer.run(inputs))
    for ours in stage.ours:
        np.testing.assert_allclose(ours.answer(inputs, ours.run(inputs)), theirs, atol=EQUAL[name, peer_name], rtol=0)


@pytest.mark.filterwarnings("ignore::proxcal.ProxcalWarning")
@pytest.mark.parametrize("name", ["votes", "beyond-search", "procal", "inference"])
def test_a_stage_without_peers_gives_rows_of_probabilities(name):
    stage = STAGES[name]
    inputs = stage.inputs(SMALL)
    for contestant in stage.ours:
        rows = contestant.run(inputs)
        if rows.ndim == 2:  # the bare search gives none
            np.testing.assert_allclose(rows.sum(axis=1), 1)
            assert rows.shape == (SMALL.n, SMALL.n_classes)


def test_samples_are_the_same_each_time():
    once, again = simulated(SMALL), simulated(SMALL)
    np.testing.assert_array_equal(once[1].logits, again[1].logits)
    np.testing.assert_array_equal(once[0].features, again[0].features)


def test_there_is_something_for_the_default_to_correct():
    samples, _ = simulated(SIZES["small"].workload._replace(n=1000))
    fitted = ProCal().fit(samples.logits, samples.labels, features=samples.features)
    assert isinstance(fitted.informed_, NeighborhoodLogistic)


@pytest.mark.parametrize("size", SIZES.values())
def test_sizes_are_halved_up_to_the_whole(size):
    values = size.growing("n")
    assert values[-1] == size.workload.n
    assert len(values) == size.n_halvings + 1
    assert min(values) > 50  # neighbours that are looked at
