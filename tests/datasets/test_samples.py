import numpy as np
import pytest

from proxcal.datasets import Sample, Samples


def animals():
    return Samples("text", ["meow", "woof", "moo"], ["a", "b", "c"], np.array([0, 2, 1]), ("cat", "cow", "dog"))


def test_a_sample_has_its_name_content_and_label():
    assert list(animals())[1] == Sample("b", "woof", 2)


def test_a_sample_without_label_has_none():
    assert Samples("text", ["meow"], ["a"])[0].label is None


def test_taken_samples_keep_what_is_theirs_in_the_order_asked_for():
    assert list(animals().take([2, 0])) == [Sample("c", "moo", 1), Sample("a", "meow", 0)]


def test_labels_become_places_among_the_models_classes():
    there = animals().in_order_of(["dog", "bird", "cat", "cow"])
    assert there.labels.tolist() == [2, 0, 3]
    assert there.classes == ("dog", "bird", "cat", "cow")


def test_a_class_that_the_model_does_not_name_is_told():
    with pytest.raises(ValueError, match=r"^classes has no 'cow', as 1 of the data's 3 classes; it needs"):
        animals().in_order_of(["dog", "cat"])


def test_labels_without_names_cannot_be_put_in_another_order():
    with pytest.raises(ValueError, match="has no labels, or no names"):
        Samples("text", ["meow"], ["a"], np.array([0])).in_order_of(["cat"])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"contents": [], "names": []}, "contents has no samples"),
        ({"names": ["a", "b"]}, "names has 2 samples"),
        ({"labels": np.array([0, 1])}, "labels has 2 samples"),
        ({"kind": "sound"}, "kind must be one of 'image', 'text'; got 'sound'"),
    ],
)
def test_what_does_not_fit_together_is_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        Samples(**({"kind": "text", "contents": ["meow"], "names": ["a"]} | wrong))
