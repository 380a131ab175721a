import numpy as np
import pytest

from proxcal.bundle import Predictions
from proxcal.experiments.reproduce import PROTOCOLS
from proxcal.experiments.reproduce.inputs import drawn, read_inputs, split_sizes


def test_too_few_samples_are_refused_with_both_numbers(make_file):
    path = make_file("val")
    with pytest.raises(ValueError, match=r"val\.npz has 120 samples; imagenet-lt needs 10000 .*scaled=True"):
        read_inputs(PROTOCOLS["imagenet-lt"], [path])


def test_scaled_takes_them_and_says_so(make_file):
    found = read_inputs(PROTOCOLS["imagenet-lt"], [make_file("val")], scaled=True)
    assert found.deviations == ("val has 120 samples, not 10000",)


def test_enough_samples_are_the_papers_protocol_scaled_or_not(make_file, sized):
    sized("imagenet-lt", 120, split=(60, 60))
    path = make_file("val")
    for scaled in (False, True):
        assert read_inputs(PROTOCOLS["imagenet-lt"], [path], scaled=scaled).deviations == ()


@pytest.mark.parametrize(
    ("name", "n_files", "wanted"),
    [("hyper-k", 0, "PREDICTIONS;"), ("hyper-k", 2, "PREDICTIONS;"), ("imagenet-c", 1, "CLEAN CORRUPTED...;")],
)
def test_too_few_or_too_many_files_are_refused_with_their_roles(make_file, name, n_files, wanted):
    files = [make_file(f"file{i}") for i in range(n_files)]
    with pytest.raises(ValueError, match=f"{name} takes {wanted} {n_files} files came"):
        read_inputs(PROTOCOLS[name], files, scaled=True)


def test_a_file_may_be_given_a_name_and_a_prefix(tmp_path, make_file):
    samples = Predictions.load(make_file("one"))
    arrays = {f"train_{name}": getattr(samples, name) for name in ("logits", "labels", "features")}
    np.savez(tmp_path / "both.npz", **arrays)
    files = [f"clean={make_file('val')}", f"{tmp_path / 'both.npz'}:train_"]
    found = read_inputs(PROTOCOLS["imagenet-c"], files, scaled=True)
    assert {role: list(given) for role, given in found.by_role.items()} == {
        "clean": ["clean"],
        "corrupted": ["both-train"],
    }
    np.testing.assert_array_equal(found.only("corrupted").labels, samples.labels)


def test_a_file_whose_name_looks_like_both_is_taken_as_it_is(make_file):
    found = read_inputs(PROTOCOLS["hyper-k"], [make_file("a=b")], scaled=True)
    assert list(found.by_role["predictions"]) == ["a=b"]


def test_two_files_of_one_name_are_refused(make_file):
    files = [make_file("val"), f"noise={make_file('a')}", f"noise={make_file('b')}"]
    with pytest.raises(ValueError, match="two files are named noise; tell them apart as NAME=FILE"):
        read_inputs(PROTOCOLS["imagenet-c"], files, scaled=True)


def test_a_draw_of_all_samples_is_the_split_of_predictions(make_file):
    samples = Predictions.load(make_file("val"))
    calibration, test = samples.split(0.5, random_state=2021)
    calibrating, testing = drawn(PROTOCOLS["imagenet"], 120, 2021)
    np.testing.assert_array_equal(samples.take(calibrating).features, calibration.features)
    np.testing.assert_array_equal(samples.take(testing).features, test.features)


def test_of_more_samples_just_as_many_are_drawn_as_the_paper_has(sized):
    sized("imagenet-lt", 90, split=(50, 40))
    calibrating, testing = drawn(PROTOCOLS["imagenet-lt"], 200, 2020)
    assert (len(calibrating), len(testing)) == (50, 40)
    assert len({*calibrating, *testing}) == 90
    assert max(calibrating) > 90  # from all of them


def test_of_fewer_samples_all_are_drawn_in_the_papers_proportion(sized):
    sized("imagenet-lt", 90, split=(60, 30))
    assert split_sizes(PROTOCOLS["imagenet-lt"], 45) == (30, 15)
