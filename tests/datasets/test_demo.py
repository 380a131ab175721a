from importlib.resources import files

import numpy as np
import pytest

from proxcal.datasets import load_demo

FOLDER = files("proxcal.datasets")


@pytest.fixture(scope="module")
def demo():
    return load_demo()


@pytest.fixture(scope="module")
def train_counts():
    with np.load(FOLDER / "fashion_mnist_lt.npz") as arrays:
        return arrays["train_counts"]


def test_there_are_at_least_ten_thousand_samples_of_ten_classes(demo):
    assert len(demo) >= 10_000
    assert demo.n_classes == 10


def test_logits_features_and_labels_are_all_there(demo):
    assert demo.logits.shape == (len(demo), 10)
    assert demo.features.shape == (len(demo), 64)
    assert demo.labels.shape == (len(demo),)


def test_scores_and_features_are_float16_and_finite(demo):
    for array in (demo.logits, demo.features):
        assert array.dtype == np.float16
        assert np.isfinite(array).all()


def test_every_class_is_held_out_alike(demo):
    assert np.bincount(demo.labels).tolist() == [1000] * 10


def test_the_network_learned_from_a_long_tail(train_counts):
    assert (np.diff(train_counts) < 0).all()
    assert train_counts[0] == 50 * train_counts[-1]


def test_the_network_is_fairly_accurate(demo):
    accuracy = np.mean(demo.logits.argmax(axis=1) == demo.labels)
    assert 0.75 < accuracy < 0.9


def test_the_network_is_worse_on_the_classes_it_saw_less_of(demo):
    correct = demo.logits.argmax(axis=1) == demo.labels
    assert correct[demo.labels >= 7].mean() < correct[demo.labels < 3].mean()


def test_the_file_is_small():
    assert len((FOLDER / "fashion_mnist_lt.npz").read_bytes()) <= 3_000_000


def test_the_licence_of_the_images_lies_beside_it():
    assert "Zalando SE" in (FOLDER / "FASHION-MNIST-LICENSE").read_text()


def test_two_calls_give_the_same(demo):
    np.testing.assert_array_equal(load_demo().logits, demo.logits)
