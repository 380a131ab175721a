from copy import deepcopy
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

import proxcal as px
from proxcal.base._votes import References
from proxcal.base.neighbor_votes import NeighborVotes
from proxcal.informed import INFORMED

PLAIN = np.eye(6)[0]


def samples(n=300, n_classes=4, seed=0):
    """Features that tell more of the label than the logits do."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, 3))
    labels = (features @ np.random.default_rng(9).normal(size=(3, n_classes))).argmax(axis=1)
    return 1.5 * rng.normal(size=(n, n_classes)) + 2 * np.eye(n_classes)[labels], labels, features


def silent(n=300, n_classes=4, seed=0):
    """Logits that say all there is to say, and features of nothing."""
    rng = np.random.default_rng(seed)
    logits = 2 * rng.normal(size=(n, n_classes))
    return 1.5 * logits, (logits + rng.gumbel(size=logits.shape)).argmax(axis=1), rng.normal(size=(n, 3))


@cache
def fitted(n_classes=4):
    return NeighborVotes().fit(*samples(n_classes=n_classes))


def log_loss(probs, labels):
    return -np.log(probs[np.arange(len(labels)), labels]).mean()


def temperature_scaling(logits, labels):
    return px.TemperatureScaling().fit(logits, labels)


def references_of(votes):
    return References(votes.reference_labels_, votes.reference_classes_, votes.reference_probs_)


@pytest.mark.parametrize("n_classes", [2, 4, 30])
def test_rows_are_the_dense_formula(dense_votes, n_classes):
    votes = fitted(n_classes)
    logits, _, features = samples(40, n_classes, seed=1)
    found = votes.proximity_.neighbors(features, 50)
    dense = dense_votes(
        logits, found, references_of(votes), votes.temperature_, votes.bandwidth_, votes.label_counts_,
        votes.expected_counts_,
    )  # fmt: skip
    np.testing.assert_allclose(
        votes.predict_proba(logits, features), softmax(dense @ votes.weights_, axis=1), rtol=1e-9, atol=1e-15
    )


@pytest.mark.parametrize("n_classes", [2, 4, 30])
def test_weights_minimise_the_dense_objective(dense_votes, n_classes):
    votes, (logits, labels, features) = fitted(n_classes), samples(n_classes=n_classes)
    dense = dense_votes(
        logits, px.Proximity(n_neighbors=50).fit(features).neighbors(), references_of(votes), votes.temperature_,
        votes.bandwidth_, votes.label_counts_, votes.expected_counts_, own=np.arange(300),
    )  # fmt: skip

    def objective(weights):
        loss = -log_softmax(dense @ weights, axis=1)[np.arange(300), labels].sum()
        return loss + 0.5 * votes.strength_ * ((weights - PLAIN) ** 2).sum()

    bounds = [(None, None), (0, None), (0, None), (0, None), (None, None), (0, None)]
    best = minimize(objective, PLAIN, bounds=bounds, options={"ftol": 1e-14, "maxiter": 1000})
    assert votes.share_ > 0
    np.testing.assert_allclose(votes.weights_, PLAIN + votes.share_ * (best.x - PLAIN), atol=5e-3)


def test_what_it_remembers_is_what_came():
    votes, (logits, labels, features) = fitted(), samples()
    rows = temperature_scaling(logits, labels).predict_proba(logits)
    assert votes.temperature_ == temperature_scaling(logits, labels).temperature_
    assert votes.bandwidth_ == np.median(px.Proximity(n_neighbors=50).fit(features).neighbors().distances)
    np.testing.assert_array_equal(votes.label_counts_, np.bincount(labels, minlength=4))
    np.testing.assert_allclose(votes.expected_counts_, rows.sum(axis=0))
    np.testing.assert_allclose(np.sort(votes.reference_probs_), np.sort(rows), rtol=1e-6)


def test_it_lowers_the_loss_of_new_samples_and_says_by_how_much_accuracy_changes():
    votes = NeighborVotes().fit(*samples(1500))
    logits, labels, features = samples(4000, seed=1)
    before, after = temperature_scaling(*samples(1500)[:2]), votes.predict_proba(logits, features)
    assert log_loss(after, labels) < log_loss(before.predict_proba(logits), labels) - 0.1
    changed = after.argmax(axis=1) != logits.argmax(axis=1)
    gain = (after.argmax(axis=1) == labels).mean() - (logits.argmax(axis=1) == labels).mean()
    said = votes.accuracy_change_
    assert said["low"] < gain < said["high"]
    assert 0 < said["low"] < said["change"] < said["high"]
    assert said["changed"] == pytest.approx(changed.mean(), abs=0.03)


@pytest.mark.parametrize("seed", range(6))
def test_neighbours_that_say_nothing_change_next_to_nothing(seed):
    logits, labels, features = silent(400, seed=seed)
    votes = NeighborVotes().fit(logits, labels, features)
    test = silent(4000, seed=100 + seed)
    plain = temperature_scaling(logits, labels).predict_proba(test[0])
    assert log_loss(votes.predict_proba(test[0], test[2]), test[1]) < log_loss(plain, test[1]) + 0.003


def shuffled():
    logits, _, features = samples(400)
    return logits, np.random.default_rng(0).permutation(np.arange(400) % 4), features


@pytest.mark.filterwarnings("ignore::proxcal.ProxcalWarning")
@pytest.mark.parametrize("case", [silent(400), shuffled()], ids=["features of nothing", "shuffled labels"])
def test_where_votes_say_nothing_it_is_temperature_scaling_to_the_bit(case):
    logits, labels, features = case
    votes = NeighborVotes().fit(logits, labels, features)
    assert votes.share_ == 0
    np.testing.assert_array_equal(votes.weights_, PLAIN)
    assert set(votes.accuracy_change_.values()) == {0}
    np.testing.assert_array_equal(
        votes.predict_proba(logits, features), temperature_scaling(logits, labels).predict_proba(logits)
    )


def test_the_gate_closes_where_it_is_wide():
    logits, labels, features = samples()
    votes = NeighborVotes(gate=1000).fit(logits, labels, features)
    np.testing.assert_array_equal(
        votes.predict_proba(logits, features), temperature_scaling(logits, labels).predict_proba(logits)
    )


HARD = {
    "a class without references": lambda z, y, x: (z, np.where(y == 1, 0, y), x),
    "all references of one class": lambda z, y, x: (z, np.full_like(y, 2), x),
    "fewer references than neighbours": lambda z, y, x: (z[:12], y[:12], x[:12]),
    "two references": lambda z, y, x: (z[:2], y[:2], x[:2]),
    "duplicates with other labels": lambda z, y, x: (z, y, np.repeat(x[::10], 10, axis=0)),
    "the same features for all": lambda z, y, x: (z, y, np.ones_like(x)),
    "all right": lambda z, y, x: (z, z.argmax(axis=1), x),
    "all wrong": lambda z, y, x: (z, z.argmin(axis=1), x),
    "float16": lambda z, y, x: (z.astype(np.float16), y, x.astype(np.float16)),
    "saturated": lambda z, y, x: (1000 * z, y, x),
    "no information": lambda z, y, x: (np.zeros_like(z), y, x),
    "a class masked by the smallest float": lambda z, y, x: (np.column_stack([z, np.full(len(z), -3.4e38)]), y, x),
}


@pytest.mark.filterwarnings("ignore::proxcal.ProxcalWarning")
@pytest.mark.parametrize("alter", HARD.values(), ids=HARD)
def test_hard_cases_give_rows_that_sum_to_one(alter):
    logits, labels, features = alter(*samples(120))
    votes = NeighborVotes().fit(logits, labels, features)
    probs = votes.predict_proba(logits, features)
    assert (probs >= 0).all()
    np.testing.assert_allclose(probs.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_array_equal(votes.predict_proba(logits[:1], features[:1]), probs[:1])
    assert (
        log_loss(np.maximum(probs, 1e-300), labels)
        <= log_loss(np.maximum(temperature_scaling(logits, labels).predict_proba(logits), 1e-300), labels) + 1e-9
    )


@pytest.mark.parametrize("per_class", [5, 10])
def test_classes_of_equal_size_by_design_do_no_harm(per_class):
    logits, labels, features = silent(4000, n_classes=40)
    some = np.concatenate([np.flatnonzero(labels == c)[:per_class] for c in range(40)])
    votes = NeighborVotes().fit(logits[some], labels[some], features[some])
    plain = temperature_scaling(logits[some], labels[some]).predict_proba(logits)
    assert log_loss(votes.predict_proba(logits, features), labels) < log_loss(plain, labels) + 0.001


def test_a_class_without_references_gets_no_vote_and_keeps_its_place():
    logits, labels, features = samples(500)
    kept = labels != 1
    votes = NeighborVotes().fit(logits[kept], labels[kept], features[kept])
    assert votes.label_counts_[1] == 0
    sure = np.zeros((1, 4)) + 40 * np.eye(4)[1]
    assert votes.predict(sure, features[:1]) == 1


def test_equally_near_references_of_two_labels_vote_for_both():
    rng = np.random.default_rng(0)
    features = np.repeat(rng.normal(size=(40, 3)), 20, axis=0)
    labels = np.where(np.arange(800) % 2, 0, 1 + (np.arange(800) // 20) % 3)
    votes = NeighborVotes().fit(rng.normal(size=(800, 4)), labels, features)
    row = votes.predict_proba(np.zeros((1, 4)), features[:1])[0]
    assert row[labels[0]] == pytest.approx(row[0], rel=0.5)
    assert row[labels[0]] + row[0] > 0.8


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 1000))
def test_neither_the_order_of_references_nor_of_samples_matters(seed):
    votes, (logits, _, features) = fitted(), samples(40, seed=1)
    rows = votes.predict_proba(logits, features)
    order = np.random.default_rng(seed).permutation(300)
    turned = deepcopy(votes)
    for name in ("reference_labels_", "reference_classes_", "reference_probs_"):
        setattr(turned, name, getattr(votes, name)[order])
    turned.proximity_ = px.Proximity(n_neighbors=50).fit(votes.proximity_.references_[order])
    np.testing.assert_allclose(turned.predict_proba(logits, features), rows, rtol=1e-9)
    some = np.random.default_rng(seed).permutation(40)
    np.testing.assert_array_equal(votes.predict_proba(logits[some], features[some]), rows[some])


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 1000))
def test_the_order_of_calibration_samples_matters_only_by_the_folds(seed):
    logits, labels, features = samples(1000)
    order = np.random.default_rng(seed).permutation(1000)
    turned = NeighborVotes().fit(logits[order], labels[order], features[order])
    new = samples(200, seed=1)
    before = NeighborVotes().fit(logits, labels, features).predict_proba(new[0], new[2])
    after = turned.predict_proba(new[0], new[2])
    assert abs(log_loss(after, new[1]) - log_loss(before, new[1])) < 0.01


def test_a_constant_added_to_a_row_of_logits_changes_nothing():
    logits, labels, features = samples()
    moved = NeighborVotes().fit(logits + np.arange(300)[:, None] / 64, labels, features)
    np.testing.assert_allclose(
        moved.predict_proba(logits, features), fitted().predict_proba(logits, features), atol=1e-9
    )


def test_probabilities_give_what_their_logits_give():
    logits, labels, features = samples()
    by_probs = NeighborVotes(input="probs").fit(softmax(logits, axis=1), labels, features)
    np.testing.assert_allclose(
        by_probs.predict_proba(softmax(logits, axis=1), features), fitted().predict_proba(logits, features), atol=1e-6
    )


def test_the_same_random_state_gives_the_same_to_the_bit():
    np.testing.assert_array_equal(NeighborVotes().fit(*samples()).weights_, fitted().weights_)


def test_further_references_vote_with_the_old_weights(dense_votes):
    votes, further = deepcopy(fitted()), samples(200, seed=2)
    rows = softmax(further[0] / votes.temperature_, axis=1)
    votes.add_references(further[2], further[1], further[0])
    (logits, labels, features), old = samples(), fitted()
    np.testing.assert_array_equal(votes.weights_, old.weights_)
    np.testing.assert_allclose(votes.label_counts_, np.bincount(np.concatenate([labels, further[1]]), minlength=4))
    np.testing.assert_allclose(votes.expected_counts_, old.expected_counts_ + rows.sum(axis=0))
    new = samples(40, seed=3)
    dense = dense_votes(
        new[0], px.Proximity(n_neighbors=50).fit(np.concatenate([features, further[2]])).neighbors(new[2]),
        References.of(
            np.concatenate([labels, further[1]]), np.concatenate([softmax(logits / old.temperature_, axis=1), rows])
        ),
        old.temperature_, old.bandwidth_, votes.label_counts_, votes.expected_counts_,
    )  # fmt: skip
    np.testing.assert_allclose(votes.predict_proba(new[0], new[2]), softmax(dense @ old.weights_, axis=1), rtol=1e-9)


@pytest.mark.filterwarnings("ignore::proxcal.ProxcalWarning")
@pytest.mark.parametrize("informed", ["auto", None, *INFORMED])
def test_within_procal_every_correction_keeps_its_predictions_and_survives_saving(tmp_path, informed):
    logits, labels, features = samples()
    within = px.ProCal(base="neighbor-votes", informed=informed).fit(logits, labels, features)
    new, _, near = samples(100, seed=1)
    alone = fitted().predict_proba(new, near)
    probs = within.predict_proba(new, near)
    np.testing.assert_array_equal(probs.argmax(axis=1), alone.argmax(axis=1))
    if informed is None:
        np.testing.assert_array_equal(probs, alone)
    within.save(tmp_path / "a.proxcal")
    loaded = px.ProCal.load(tmp_path / "a.proxcal")
    np.testing.assert_array_equal(loaded.predict_proba(new, near), probs)
    assert loaded.base_.accuracy_change_ == within.base_.accuracy_change_


@pytest.mark.parametrize("gate", [-0.1, np.nan, "wide", None])
def test_a_gate_that_is_no_number_of_errors_is_named(gate):
    with pytest.raises(ValueError, match="gate must be a number in"):
        NeighborVotes(gate=gate).fit(*samples(30))
