import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxcal.metrics import classwise_ece, ece


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.full(4, 0.4), size=300)
    probs[0] = [0, 1, 0, 0]
    return probs, rng.integers(0, 4, 300)


def by_loop(probs, labels, n_bins):
    """The error of each class, a class, a bin and a sample at a time."""
    errors = []
    for k in range(probs.shape[1]):
        total = 0.0
        for b in range(n_bins):
            low, high = b / n_bins, (b + 1) / n_bins
            members = [i for i in range(len(probs)) if low <= probs[i, k] < high or (high == 1 and probs[i, k] == 1)]
            total += abs(sum((labels[i] == k) - probs[i, k] for i in members)) / len(probs)
        errors.append(total)
    return errors


@pytest.mark.parametrize("n_bins", [1, 10, 15])
def test_classwise_ece_is_the_formula(rows, n_bins):
    found = classwise_ece(*rows, n_bins, return_result=True)
    np.testing.assert_allclose(found.of_class, by_loop(*rows, n_bins), atol=1e-12)
    assert found.value == classwise_ece(*rows, n_bins) == pytest.approx(np.mean(by_loop(*rows, n_bins)))


def test_the_error_of_a_class_is_the_ece_of_its_probability(rows):
    probs, labels = rows
    found = classwise_ece(*rows, return_result=True)
    np.testing.assert_allclose(found.of_class, [ece(probs[:, k], labels == k) for k in range(4)])


def test_more_rows_than_a_block_give_the_same(rows, monkeypatch):
    whole = classwise_ece(*rows)
    monkeypatch.setattr("proxcal.metrics.classwise.row_blocks", lambda n, _: [slice(i, i + 7) for i in range(0, n, 7)])
    assert classwise_ece(*rows) == pytest.approx(whole, abs=1e-12)


@given(st.integers(0, 2**32 - 1))
def test_the_order_of_samples_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    probs, labels, order = rng.dirichlet(np.ones(3), size=40), rng.integers(0, 3, 40), rng.permutation(40)
    assert classwise_ece(probs[order], labels[order]) == pytest.approx(classwise_ece(probs, labels), abs=1e-12)


@pytest.mark.parametrize(("labels", "expected"), [([0, 1, 2], 0.0), ([1, 2, 0], 2 / 3)])
def test_certainty_costs_nothing_when_right_and_both_classes_when_wrong(labels, expected):
    assert classwise_ece(np.eye(3), labels) == pytest.approx(expected)


def test_one_sample_is_defined():
    assert classwise_ece([[0.7, 0.3]], [0]) == pytest.approx(0.3)


def test_a_class_without_samples_counts_with_what_it_was_given():
    found = classwise_ece(np.tile([0.6, 0.3, 0.1], (10, 1)), [0] * 6 + [1] * 4, return_result=True)
    np.testing.assert_allclose(found.of_class, [0, 0.1, 0.1], atol=1e-12)


def test_float16_rows_are_taken(rows):
    assert classwise_ece(rows[0].astype(np.float16), rows[1]) == pytest.approx(classwise_ece(*rows), abs=2e-3)


def test_a_label_outside_the_classes_is_refused(rows):
    with pytest.raises(ValueError, match="labels has 4 in row 0; with 4 classes it needs 0 to 3"):
        classwise_ece(rows[0], np.full(300, 4))


def test_logits_are_refused(rows):
    with pytest.raises(ValueError, match=r"probs has values outside \[0, 1\]; are these logits"):
        classwise_ece(np.log(rows[0] + 1e-9), rows[1])
