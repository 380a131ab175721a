"""The sparse sums and the weights found by them, against the same loss of dense (n, C, 6) features, written plainly."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from scipy.special import log_softmax, softmax

from proxcal._held_out import assign_folds
from proxcal.base._vote_rows import VoteRows, logits_of, sums_over
from proxcal.base._vote_weights import (
    LOWEST,
    _choose_strength,
    _newton,
    _without_each_fold,
    bounded_minimiser,
    fit_weights,
    plain_weights,
)
from proxcal.base._votes import References
from proxcal.proximity import Proximity

PLAIN = np.eye(6)[0]
WEIGHTS = np.array([0.8, 0.3, -0.2, 0.5, -0.4, 0.7])


def vote_rows(n=90, n_classes=4, seed=0, input="logits", dtype=np.float64):
    """Samples whose neighbours know more than their scores do."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, 3))
    labels = (features @ rng.normal(size=(3, n_classes))).argmax(axis=1)
    scores = (1.5 * rng.normal(size=(n, n_classes)) + np.eye(n_classes)[labels]).astype(dtype)
    rows = softmax(scores.astype(np.float64) / 1.3, axis=1)
    found = Proximity(n_neighbors=10).fit(features).neighbors(k=min(50, n - 1))
    counts = np.bincount(labels, minlength=n_classes).astype(float)
    return VoteRows(
        softmax(scores, axis=1) if input == "probs" else scores, input, 1.3, labels, found, References.of(labels, rows),
        0.6, counts, rows.sum(axis=0), assign_folds(n, 0),
    )  # fmt: skip


@pytest.fixture
def dense_of(dense_votes):
    """The features of calibration samples."""

    def dense_of(rows):
        scores = np.log(rows.scores) if rows.input == "probs" else rows.scores
        return dense_votes(
            scores, rows.neighbors, rows.references, rows.temperature, rows.bandwidth, rows.label_counts,
            rows.expected_counts, own=np.arange(len(scores)),
        )  # fmt: skip

    return dense_of


def losses(weights, features, labels):
    return -log_softmax(features @ weights, axis=1)[np.arange(len(labels)), labels]


def gradient(weights, features, labels):
    return approx_fprime(weights, lambda w: losses(w, features, labels).sum(), 1e-7)


def least(features, labels, strength):
    def objective(weights):
        return losses(weights, features, labels).sum() + 0.5 * strength * ((weights - PLAIN) ** 2).sum()

    bounds = [(low if np.isfinite(low) else None, None) for low in LOWEST]
    options = {"ftol": 1e-14, "gtol": 1e-5, "maxiter": 1000}
    return minimize(objective, PLAIN, method="L-BFGS-B", bounds=bounds, options=options), objective


CASES = [{"n_classes": 2}, {"n_classes": 4}, {"n_classes": 4, "input": "probs"}, {"n_classes": 40, "n": 60}, {"n": 12}]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_logits_are_those_of_the_dense_formula(case, dense_of):
    rows = vote_rows(**case)
    features = dense_of(rows)
    for chunk in rows.chunks():
        found, below = logits_of(rows, chunk, WEIGHTS)
        np.testing.assert_allclose(softmax(found, axis=1), softmax(features[chunk.rows] @ WEIGHTS, axis=1), rtol=1e-6)
        np.testing.assert_allclose(below, features[chunk.rows, :, 0] - features[chunk.rows, :, 0].max(1)[:, None])


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("weights", [PLAIN, WEIGHTS], ids=["plain", "other"])
def test_loss_and_gradient_of_each_fold_are_the_dense_ones(case, weights, dense_of):
    rows = vote_rows(**case)
    features, sums = dense_of(rows), sums_over(rows, rows.chunks, weights)
    for fold in range(rows.n_folds):
        inside = rows.folds == fold
        assert sums.loss[fold] == pytest.approx(losses(weights, features[inside], rows.labels[inside]).sum(), rel=1e-6)
        expected = gradient(weights, features[inside], rows.labels[inside])
        np.testing.assert_allclose(sums.gradient[fold], expected, atol=1e-4)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_hessian_is_the_change_of_the_gradient(case):
    rows = vote_rows(**case)
    hessian = sums_over(rows, rows.chunks, WEIGHTS).hessian
    for j, step in enumerate(1e-5 * np.eye(6)):
        up, down = (sums_over(rows, rows.chunks, WEIGHTS + sign * step).gradient for sign in (1, -1))
        np.testing.assert_allclose(hessian[:, j], (up - down) / 2e-5, atol=1e-4)


@pytest.mark.parametrize("strength", [0.1, 10.0, 1000.0])
def test_weights_are_the_minimiser_of_the_dense_objective(strength, dense_of):
    rows = vote_rows(n=300)
    found, _ = _newton(rows, rows.chunks, strength, PLAIN)
    best, objective = least(dense_of(rows), rows.labels, strength)
    assert objective(found) <= best.fun + 1e-7 * 300
    np.testing.assert_allclose(found, best.x, atol=2e-3)


def test_weights_without_a_fold_are_nearly_refitted_without_it(dense_of):
    rows = vote_rows(n=400)
    features = dense_of(rows)
    weights, sums = _newton(rows, rows.chunks, 10.0, PLAIN)
    without = _without_each_fold(sums, 10.0, weights)
    for fold in range(0, 10, 3):
        rest = rows.folds != fold
        refitted, _ = least(features[rest], rows.labels[rest], 10.0)
        assert np.abs(without[fold] - refitted.x).max() < 0.1 * np.abs(weights - refitted.x).max() + 5e-3


def test_the_accuracy_change_is_that_of_weights_refitted_without_each_fold(dense_of):
    rows = vote_rows(n=400)
    features, found = dense_of(rows), fit_weights(rows, 0.5)
    predicted = np.empty(400, dtype=int)
    for fold in range(10):
        inside = rows.folds == fold
        refitted, _ = least(features[~inside], rows.labels[~inside], found.strength)
        believed = PLAIN + found.share * (refitted.x - PLAIN)
        predicted[inside] = (features[inside] @ believed).argmax(axis=1)
    before = rows.scores.argmax(axis=1)
    gain = (predicted == rows.labels).astype(float) - (before == rows.labels)
    change = found.accuracy_change
    assert change["change"] == pytest.approx(gain.mean(), abs=0.006)
    assert change["changed"] == pytest.approx((predicted != before).mean(), abs=0.006)
    half_width = 1.96 * gain.std(ddof=1) / np.sqrt(400) * np.sqrt(1 + 10 / 9)
    assert change["high"] - change["low"] == pytest.approx(2 * half_width, rel=0.05)
    assert change["low"] + change["high"] == pytest.approx(2 * change["change"])


def test_the_weights_are_those_of_all_rows_as_far_as_they_are_believed(dense_of):
    rows = vote_rows(n=300)
    found = fit_weights(rows, 0.5)
    assert 0 < found.share < 1
    best, _ = least(dense_of(rows), rows.labels, found.strength)
    np.testing.assert_allclose(found.weights, PLAIN + found.share * (best.x - PLAIN), atol=5e-3)


def test_nothing_is_believed_of_a_gain_within_a_large_gate():
    found, plain = fit_weights(vote_rows(), gate=1000.0), plain_weights()
    np.testing.assert_array_equal(found.weights, plain.weights)
    assert (found.share, found.strength) == (0, np.inf)
    assert found.accuracy_change == {"change": 0.0, "low": 0.0, "high": 0.0, "changed": 0.0}


def test_a_larger_gate_believes_less():
    shares = [fit_weights(vote_rows(), gate).share for gate in (0.0, 0.3, 1.0)]
    assert shares[0] == 1
    assert shares == sorted(shares, reverse=True)


@pytest.mark.parametrize("i", [0, 7, 41])
def test_a_sample_has_no_vote_on_itself(i):
    rows = vote_rows()
    other = rows.labels.copy()
    other[i] = (other[i] + 1) % 4
    counts = np.bincount(other, minlength=4).astype(float)
    references = References(other.astype(np.int32), rows.references.classes, rows.references.probs)
    turned = replace(rows, labels=other, references=references, label_counts=counts)
    ((chunk,), (after,)) = ([c for c in r.chunks() if i in c.rows] for r in (rows, turned))
    place = list(chunk.rows).index(i)
    before, after = (logits_of(r, c, WEIGHTS)[0][place] for r, c in ((rows, chunk), (turned, after)))
    np.testing.assert_allclose(softmax(before), softmax(after), rtol=1e-6)


@pytest.mark.parametrize("step", [1, 4])
def test_chunks_hold_each_row_once_and_one_fold_each(step):
    rows = vote_rows(n=230)
    chunks = list(rows.chunks(step))
    np.testing.assert_array_equal(np.sort(np.concatenate([c.rows for c in chunks])), np.arange(0, 230, step))
    assert all((rows.folds[c.rows] == c.fold).all() for c in chunks)


def test_the_strength_is_that_of_least_loss_without_each_fold(dense_of):
    rows = vote_rows(n=300)
    features = dense_of(rows)
    strength, _ = _choose_strength(rows)

    def held_out(strength):
        loss = np.empty(300)
        for fold in range(10):
            inside = rows.folds == fold
            refitted, _ = least(features[~inside], rows.labels[~inside], strength)
            loss[inside] = losses(refitted.x, features[inside], rows.labels[inside])
        return loss.mean()

    assert held_out(strength) <= min(held_out(other) for other in (0.1, 1.0, 10.0, 100.0, 1000.0)) + 1e-3


@pytest.mark.parametrize("seed", range(30))
def test_the_bounded_minimiser_is_the_best_of_all_sets_of_weights_at_their_bound(seed):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(6, 8)) * rng.lognormal(size=6)[:, None]
    hessian, gradient, weights = root @ root.T, 5 * rng.normal(size=6), np.abs(rng.normal(size=6))
    bounded, best = np.flatnonzero(np.isfinite(LOWEST)), (np.inf, None)
    for at_bound in itertools.product([False, True], repeat=len(bounded)):
        fixed = bounded[list(at_bound)]
        free = np.setdiff1d(np.arange(6), fixed)
        tried = np.zeros(6)
        right = (hessian @ weights - gradient)[free]
        tried[free] = np.linalg.solve(hessian[np.ix_(free, free)], right)
        if (tried >= LOWEST).all():
            step = tried - weights
            best = min(best, (gradient @ step + step @ hessian @ step / 2, tried.tolist()))
    np.testing.assert_allclose(bounded_minimiser(weights, gradient, hessian), best[1], atol=1e-8)
