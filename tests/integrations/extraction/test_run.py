import json
import re
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from proxcal import Predictions, ProxcalWarning  # noqa: E402
from proxcal.datasets import open_samples  # noqa: E402
from proxcal.integrations.extraction import Options, extract_each, extract_to_file, run  # noqa: E402

QUICK = {"workers": 0, "batch_size": 5}


def extract(samples, output="out.npz", spec="own:small", overwrite=False, **options):
    return extract_to_file(spec, open_samples(samples), Path(output), Options(**(QUICK | options)), overwrite=overwrite)


@pytest.mark.parametrize("output", ["out.npz", "out.safetensors"])
def test_the_file_holds_logits_features_labels_and_names_of_all_samples(images, expected, output):
    found = extract(images, output)
    held = Predictions.load(output)
    np.testing.assert_allclose(held.logits, expected[0], atol=1e-5)
    np.testing.assert_allclose(held.features, expected[1], atol=1e-3)
    assert held.features.dtype == np.float16
    assert held.labels.tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert held.ids[5] == "dog/1.png"
    assert (found.samples, found.skipped, found.classes, found.features) == (12, 0, 3, 6)
    assert found.accuracy == np.mean(held.logits.argmax(axis=1) == held.labels)


def test_features_are_kept_in_float32_if_asked_for(images, expected):
    extract(images, features="float32")
    np.testing.assert_allclose(Predictions.load("out.npz").features, expected[1], atol=1e-6)


def test_features_beyond_float16_are_not_kept_as_infinity(images, own):
    with pytest.raises(ValueError, match='features has values beyond float16, 65504; keep them as features="float32"'):
        extract(images, spec="own:large")


def test_worker_processes_give_the_same(images, own):
    extract(images, "one.npz")
    extract(images, "two.npz", workers=2)
    assert Path("one.npz").read_bytes() == Path("two.npz").read_bytes()


def test_samples_without_labels_have_none(images, own):
    samples = open_samples(images)
    extract_to_file("own:small", type(samples)("image", samples.contents, samples.names), Path("out.npz"), Options())
    assert Predictions.load("out.npz").labels is None


def test_texts_are_run_too(texts, own):
    assert extract(texts, spec="own:letters").features == 4
    assert len(Predictions.load("out.npz")) == 9


def test_weights_of_ones_own_model_are_a_file(images, own):
    model, _ = own()
    torch.nn.init.zeros_(model[3].weight)
    torch.save(model.state_dict(), "w.pth")
    extract(images, weights=Path("w.pth"))
    assert np.ptp(Predictions.load("out.npz").logits, axis=0).max() == 0


@pytest.mark.filterwarnings("ignore::proxcal.ProxcalWarning")
def test_an_image_that_cannot_be_read_is_skipped_and_counted(damaged, images, own):
    extract(images, "whole.npz")
    found = extract(damaged)
    whole, held = Predictions.load("whole.npz"), Predictions.load("out.npz")
    assert (found.samples, found.skipped) == (10, 2)
    kept = [i for i, name in enumerate(whole.ids) if name not in ("cat/1.png", "emu/3.png")]
    np.testing.assert_array_equal(held.ids, whole.ids[kept])
    np.testing.assert_array_equal(held.labels, whole.labels[kept])
    np.testing.assert_allclose(held.logits, whole.logits[kept], atol=1e-5)


def test_an_image_that_cannot_be_read_is_named_with_the_reason(damaged, own):
    with pytest.warns(ProxcalWarning) as warned:
        extract(damaged)
    first, second = (str(warning.message) for warning in warned)
    assert first.startswith("skipped: cat/1.png cannot be read: ")
    assert second.startswith("skipped: emu/3.png cannot be read: cannot identify image file")


def test_strict_makes_it_an_error(damaged, own):
    with pytest.raises(ValueError, match=r"^cat/1\.png cannot be read: .*\(without --strict it is skipped\)$"):
        extract(damaged, strict=True)


@pytest.mark.filterwarnings("ignore::proxcal.ProxcalWarning")
def test_where_no_image_can_be_read_there_is_no_file(damaged, own):
    for path in damaged.rglob("*.png"):
        path.write_text("not an image")
    with pytest.raises(ValueError, match="none of the 12 images could be read"):
        extract(damaged)
    assert not Path("out.npz").exists()


class Killed(Exception):
    pass


@pytest.fixture
def kill_after(monkeypatch):
    """Each batch makes a shard; after so many the run is ended."""
    monkeypatch.setattr(run, "SHARD_SECONDS", 0)

    def kill(n_batches):
        whole = run.batches

        def until(*arguments, **named):
            for i, batch in enumerate(whole(*arguments, **named)):
                if i == n_batches:
                    raise Killed
                yield batch

        monkeypatch.setattr(run, "batches", until)
        return lambda: monkeypatch.setattr(run, "batches", whole)

    return kill


def test_a_killed_run_goes_on_with_what_is_missing_and_gives_the_same_file(images, own, kill_after, monkeypatch):
    extract(images, "whole.npz")
    restore = kill_after(2)
    with pytest.raises(Killed):
        extract(images)
    assert not Path("out.npz").exists()
    restore()
    started = []
    batches = run.batches
    monkeypatch.setattr(run, "batches", lambda *a, **named: started.append(named["start"]) or batches(*a, **named))
    extract(images)
    assert started == [10]
    assert Path("out.npz").read_bytes() == Path("whole.npz").read_bytes()
    assert not Path("out.npz.part").exists()


def test_a_run_with_other_settings_does_not_go_on(images, own, kill_after):
    restore = kill_after(1)
    with pytest.raises(Killed):
        extract(images)
    restore()
    with pytest.raises(
        ValueError, match=r"out\.npz was begun with features 'float16', and now it is 'float32': give an"
    ):
        extract(images, features="float32")
    extract(images, features="float32", overwrite=True)
    assert Predictions.load("out.npz").features.dtype == np.float32


def test_a_file_that_exists_is_kept(images, own):
    Path("out.npz").write_text("mine")
    with pytest.raises(ValueError, match="exists"):
        extract(images)
    assert Path("out.npz").read_text() == "mine"


def test_it_says_how_it_was_made_and_of_what_model(images, own):
    extract(images)
    with np.load("out.npz") as file:
        assert (str(file["model"]), str(file["parameters"])) == ("own.small", str(192 * 6 + 6 + 6 * 3 + 3))
        assert json.loads(str(file["extraction"]))["model"] == "own:small"


def test_progress_tells_samples_done_and_their_rate(images, own):
    told = []
    samples = open_samples(images)
    extract_to_file("own:small", samples, Path("o.npz"), Options(**QUICK), progress=lambda *each: told.append(each))
    assert [done for done, _, _ in told] == [5, 10, 12]
    assert {total for _, total, _ in told} == {12}
    assert all(re.fullmatch(r"own\.small [\d.e+]+ images/s", text) for _, _, text in told)


# Principal components


def test_principal_components_are_those_of_the_features(images, own):
    from sklearn.decomposition import PCA

    extract(images, "all.npz", features="float32")
    extract(images, "few.npz", features="float32", pca=2)
    features = Predictions.load("all.npz").features
    few = Predictions.load("few.npz").features
    theirs = PCA(2).fit_transform(features)
    np.testing.assert_allclose(np.abs(few), np.abs(theirs), atol=1e-5)


def test_another_file_is_projected_as_the_first(images, own):
    extract(images, "first.npz", pca=2)
    extract(images, "second.npz", pca=Path("first.npz"))
    np.testing.assert_array_equal(Predictions.load("first.npz").features, Predictions.load("second.npz").features)


def test_a_file_without_a_projection_gives_none(images, own):
    extract(images, "first.npz")
    with pytest.raises(ValueError, match=r"first\.npz keeps no projection; --pca needs a number, or a file that"):
        extract(images, "second.npz", pca=Path("first.npz"))


# Whose classes


def test_classes_say_which_label_is_which(images, own):
    extract(images, classes=["emu", "cat", "dog"])
    assert Predictions.load("out.npz").labels.tolist() == [1] * 4 + [2] * 4 + [0] * 4


def test_another_number_of_classes_than_the_models_is_refused(images, own):
    with pytest.raises(ValueError, match="the data has 3 classes and the model 4: give --classes"):
        extract(images, spec="own:four_classes")


def test_a_label_that_the_model_has_no_class_for_is_refused(images, own):
    lines = [f"{path} {i}" for i, path in enumerate(sorted(images.rglob("*.png")))]
    Path("list.txt").write_text("\n".join(lines))
    with pytest.raises(ValueError, match="labels has 3 in row 3; with 3 classes it needs 0 to 2"):
        extract("list.txt")


def test_probabilities_are_not_taken_for_logits(images, own):
    with pytest.raises(ValueError, match="these are probabilities, not logits"):
        extract(images, spec="own:probabilities")


# What is wrong


def test_too_many_components_are_refused_before_the_work_and_do_not_hinder_the_next_try(images, own):
    with pytest.raises(ValueError, match="pca is 7; with 12 samples of 6 features it needs fewer"):
        extract(images, pca=7)
    assert extract(images, pca=6).features == 6


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("resnet50", "the model is 'resnet50'; it needs a source before its name: timm:…, torchvision:…, hf:…,"),
        ("absent:model", "absent:model: absent cannot be imported"),
        ("own:absent", "own:absent: own has no function 'absent'"),
        ("own:model_alone", "own:model_alone returned a Sequential; \\(model, prepare\\) is needed"),
    ],
)
def test_a_model_that_is_not_there_is_told_in_one_line(images, own, spec, message):
    with pytest.raises(ValueError, match=message):
        extract(images, spec=spec)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"device": "cuda:7"}, "device is 'cuda:7', which torch cannot use here"),
        ({"device": "tpu?"}, "device is 'tpu\\?', which torch cannot use here"),
        ({"head": "fc"}, "head is 'fc', which the model has no module of"),
        ({"batch_size": 0}, "batch_size must be a whole number of at least 1"),
        ({"workers": -1}, "workers must be"),
        ({"pca": 0}, "pca must be"),
        ({"features": "int8"}, "features must be one of 'float16', 'float32'; got 'int8'"),
        ({"weights": Path("absent.pth")}, "there is no such file"),
    ],
)
def test_an_option_that_cannot_be_is_told_in_one_line(images, own, options, message):
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        extract(images, **options)


def test_weights_of_another_model_are_refused(images, own):
    torch.save({"9.weight": torch.zeros(2, 2)}, "w.pth")
    with pytest.raises(
        ValueError, match=r"w\.pth does not fit the model: it has no 1\.weight and 9\.weight, which the"
    ):
        extract(images, weights=Path("w.pth"))


def test_weights_are_never_unpickled(images, own):
    torch.save(own()[0], "whole.pth")
    with pytest.raises(ValueError, match=r"whole\.pth does not hold weights alone"):
        extract(images, weights=Path("whole.pth"))


# Many models


def test_a_file_a_model_and_those_done_are_skipped(images, own, monkeypatch):
    specs, samples = ["own:small", "own:large"], open_samples(images)
    options = Options(**QUICK, features="float32")
    first = list(extract_each(specs, samples, Path("zoo"), options))
    assert sorted(path.name for path in Path("zoo").iterdir()) == ["own.large.npz", "own.small.npz"]
    monkeypatch.setattr(run, "load", None)
    second = list(extract_each(specs, samples, Path("zoo"), options))
    assert [one.seconds for one in second] == [None, None]
    assert [one.accuracy for one in second] == [one.accuracy for one in first]


def test_a_model_that_fails_is_left_out_and_named(images, own):
    with pytest.warns(ProxcalWarning, match="left out: own:four_classes: the data has 3 classes and the model 4"):
        failed, done = extract_each(
            ["own:four_classes", "own:small"], open_samples(images), Path("zoo"), Options(**QUICK)
        )
    assert failed.error.startswith("the data has 3 classes")
    assert done.error is None


def test_other_texts_under_the_same_names_are_not_taken_for_done(own):
    Path("a.csv").write_text("text,label\nhow,0\nwhy,1\n")
    Path("b.csv").write_text("text,label\nwho,0\nwhy,1\n")
    list(extract_each(["own:letters"], open_samples("a.csv"), Path("zoo"), Options(**QUICK)))
    with pytest.warns(ProxcalWarning, match="was begun with data '2 samples, "):
        list(extract_each(["own:letters"], open_samples("b.csv"), Path("zoo"), Options(**QUICK)))


def test_a_file_of_other_settings_is_not_taken_for_done(images, own):
    samples = open_samples(images)
    list(extract_each(["own:small"], samples, Path("zoo"), Options(**QUICK)))
    with pytest.warns(ProxcalWarning, match="was begun with amp False, and now it is True"):
        list(extract_each(["own:small"], samples, Path("zoo"), Options(**QUICK, amp=True)))
