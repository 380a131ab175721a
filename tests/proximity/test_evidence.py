import numpy as np
import pytest

from proxcal.proximity import Neighbors, evidence


def example(n=6, m=40, k=12, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    indices = np.array([rng.permutation(m)[:k] for _ in range(n)])
    neighbors = Neighbors(np.sort(rng.random((n, k)), axis=1), indices)
    labels, predictions = rng.integers(n_classes, size=(2, m))
    return neighbors, rng.integers(n_classes, size=n), labels, predictions, rng.random(m)


def slow_evidence(neighbors, predicted, labels, predictions, confidence, sizes, own=None):
    table = []
    for i, (found, c) in enumerate(zip(neighbors.indices, predicted, strict=True)):
        row = []
        for k in sizes:
            near = found[:k]
            agree, same = (labels[near] == c).sum(), (predictions[near] == c).sum()
            row += [
                np.log((agree + 0.5) / (len(near) - agree + 0.5)),
                np.log((same + 0.5) / (len(near) - same + 0.5)),
                np.mean((labels[near] == predictions[near]) - confidence[near]),
            ]
        others = [j for j in range(len(labels)) if own is None or own[i] < 0 or j % 10 != own[i] % 10]
        labelled, predicted_as = (sum(of[j] == c for j in others) for of in (labels, predictions))
        table.append([*row, np.log((1 + labelled) / (1 + predicted_as))])
    return np.array(table)


@pytest.mark.parametrize("sizes", [(10,), (3, 12), (1, 5, 50)])
def test_columns_are_agreement_and_residual_for_each_size_and_how_common_the_class_is(sizes):
    np.testing.assert_allclose(evidence(*example(), sizes=sizes), slow_evidence(*example(), sizes))


def test_of_its_class_a_reference_is_told_by_the_references_of_other_parts():
    own = np.array([0, 13, -1, 39, 7, -1])
    found = evidence(*example(), own=own, sizes=(3,))
    np.testing.assert_allclose(found, slow_evidence(*example(), (3,), own))


def test_what_is_said_of_a_reference_does_not_depend_on_its_own_outcome():
    neighbors, predicted, labels, predictions, confidence = example()
    own = np.arange(6)
    flipped = labels.copy()
    flipped[3] = (labels[3] + 1) % 3
    before, after = (evidence(neighbors, predicted, y, predictions, confidence, own=own) for y in (labels, flipped))
    np.testing.assert_allclose(before[3, -1], after[3, -1])


def test_a_class_that_no_reference_has_is_finite_evidence():
    neighbors, predicted, *references = example()
    np.testing.assert_array_equal(evidence(neighbors, predicted * 0 + 7, *references)[:, -1], 0)


def test_own_of_another_length_is_named():
    with pytest.raises(ValueError, match="own has 5 samples"):
        evidence(*example(), own=np.arange(5))


def test_unanimous_neighbours_are_finite_evidence():
    neighbors, predicted, labels, _, confidence = example()
    found = evidence(neighbors, predicted * 0, labels * 0, labels * 0, confidence)
    np.testing.assert_allclose(found[:, :2], np.log(21))


def test_the_order_of_samples_does_not_matter():
    neighbors, predicted, *references = example()
    order = np.array([3, 1, 5, 0, 2, 4])
    turned = Neighbors(neighbors.distances[order], neighbors.indices[order])
    np.testing.assert_array_equal(
        evidence(turned, predicted[order], *references), evidence(neighbors, predicted, *references)[order]
    )


def test_predicted_of_another_length_is_named():
    neighbors, predicted, *references = example()
    with pytest.raises(ValueError, match="predicted has 5 samples"):
        evidence(neighbors, predicted[:5], *references)


def test_reference_arrays_of_different_lengths_are_named():
    neighbors, predicted, labels, predictions, confidence = example()
    with pytest.raises(ValueError, match="predictions has 39 samples"):
        evidence(neighbors, predicted, labels, predictions[:39], confidence)
