import json
import struct
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save_file

from proxcal.bundle import Predictions

N, C, D = 20, 3, 4
SUFFIXES = [".npz", ".safetensors"]


def arrays(dtype=np.float32, n=N):
    rng = np.random.default_rng(0)
    return {
        "logits": rng.normal(size=(n, C)).astype(dtype),
        "labels": rng.integers(C, size=n),
        "features": rng.normal(size=(n, D)).astype(dtype),
    }


def probs(n=N):
    return np.random.default_rng(1).dirichlet(np.ones(C), size=n)


def write(path, **named):
    if path.suffix == ".npz":
        np.savez(path, **named)
    else:
        save_file(named, path)
    return path


def assert_same(one, other):
    for name in ("logits", "probs", "labels", "features"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


# From arrays


def test_arrays_keep_their_float_type():
    held = Predictions(**arrays(np.float16))
    assert held.logits.dtype == held.features.dtype == np.float16


def test_arrays_that_need_no_change_are_not_copied():
    given = arrays()
    held = Predictions(**given)
    assert np.shares_memory(held.logits, given["logits"])
    assert np.shares_memory(held.features, given["features"])


@pytest.mark.parametrize(("kind", "scores"), [("logits", arrays()["logits"]), ("probs", probs())])
def test_input_says_which_scores_there_are(kind, scores):
    held = Predictions(**{kind: scores})
    assert held.input == kind
    assert held.scores is getattr(held, kind)
    assert held.labels is None
    assert held.features is None


def test_length_and_classes_are_those_of_the_scores():
    held = Predictions(probs=probs())
    assert (len(held), held.n_classes) == (N, C)


def test_lists_will_do():
    assert Predictions(probs=[[0.5, 0.5], [1, 0]], labels=[0, 1]).labels.tolist() == [0, 1]


def test_repr_shows_shapes_and_types_not_values():
    assert repr(Predictions(**arrays())) == (
        "Predictions(logits (20, 3) float32, labels (20,) int64, features (20, 4) float32)"
    )


def test_attributes_are_not_to_be_replaced():
    with pytest.raises(AttributeError, match="labels"):
        Predictions(**arrays()).labels = None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"logits": None}, "logits and probs: neither came; give exactly one"),
        ({"probs": probs()}, "logits and probs: both came; give exactly one"),
        ({"logits": probs()}, "logits has only rows that lie in"),
        ({"logits": np.full((N, C), np.nan)}, "logits has 60 values that are not finite"),
        ({"logits": np.zeros(N)}, r"logits has shape \(20,\)"),
        ({"labels": np.zeros(N - 1, int)}, "labels has 19 samples; the other arguments have 20"),
        ({"labels": np.full(N, C)}, "labels has 3 in row 0; with 3 classes it needs 0 to 2"),
        ({"features": np.zeros((N + 1, D))}, "features has 21 samples; the other arguments have 20"),
    ],
)
def test_what_does_not_fit_is_refused_by_its_name(change, message):
    with pytest.raises(ValueError, match=message):
        Predictions(**{**arrays(), **change})


# Parts


@given(n=st.integers(2, 50), fraction=st.floats(0.01, 0.99), seed=st.integers(0, 99))
def test_a_split_parts_the_samples_without_loss(n, fraction, seed):
    n_first = round(fraction * n)
    whole = Predictions(logits=np.column_stack([np.arange(n), -np.arange(n)]), labels=np.arange(n) % 2)
    if not 0 < n_first < n:
        with pytest.raises(ValueError, match="leaves one part empty"):
            whole.split(fraction, seed)
        return
    first, second = whole.split(fraction, seed)
    assert len(first) == n_first
    assert sorted([*first.logits[:, 0], *second.logits[:, 0]]) == list(range(n))


def test_a_split_keeps_each_sample_together():
    whole = Predictions(**arrays())
    for part in whole.split(0.3, random_state=5):
        rows = [np.flatnonzero((whole.logits == row).all(axis=1))[0] for row in part.logits]
        assert_same(part, whole.take(rows))


def test_a_split_is_the_same_for_the_same_random_state():
    whole = Predictions(**arrays())
    assert_same(whole.split(random_state=7)[0], whole.split(random_state=7)[0])


def test_a_split_differs_with_another_random_state():
    whole = Predictions(**arrays())
    assert not np.array_equal(whole.split(random_state=1)[0].logits, whole.split(random_state=2)[0].logits)


@pytest.mark.parametrize("fraction", [0, 1, -0.5, 2, "half"])
def test_a_fraction_that_leaves_a_part_empty_is_refused(fraction):
    with pytest.raises(ValueError, match="fraction"):
        Predictions(**arrays()).split(fraction)


@pytest.mark.parametrize("indices", [[3, 0, 3], np.arange(N) > 10, np.array([-1], np.int8)])
def test_take_follows_numpy_indexing(indices):
    part = Predictions(**arrays()).take(indices)
    for name, array in arrays().items():
        np.testing.assert_array_equal(getattr(part, name), array[indices])


@pytest.mark.parametrize("indices", [[N], [0.5], np.ones(N + 1, bool), [], 3, [[1], [2]], np.zeros(N, bool)])
def test_indices_that_choose_no_samples_are_refused(indices):
    with pytest.raises(ValueError, match="indices"):
        Predictions(**arrays()).take(indices)


# Files


@pytest.mark.parametrize("suffix", [*SUFFIXES, ".NPZ"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_loading_gives_back_what_was_saved(tmp_path, suffix, dtype):
    held = Predictions(**arrays(dtype))
    held.save(tmp_path / f"val{suffix}")
    loaded = Predictions.load(tmp_path / f"val{suffix}")
    assert_same(loaded, held)
    assert loaded.logits.dtype == dtype


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_probs_alone_come_back(tmp_path, suffix):
    held = Predictions(probs=probs())
    held.save(tmp_path / f"val{suffix}")
    assert_same(Predictions.load(tmp_path / f"val{suffix}"), held)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(
    "layout", [np.asfortranarray, lambda a: a[::-1], lambda a: a.astype(a.dtype.newbyteorder(">"))]
)
def test_any_memory_layout_comes_back(tmp_path, suffix, layout):
    held = Predictions(logits=layout(arrays()["logits"]))
    held.save(tmp_path / f"val{suffix}")
    assert_same(Predictions.load(tmp_path / f"val{suffix}"), held)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_arrays_are_mapped_not_read(tmp_path, suffix):
    Predictions(**arrays()).save(tmp_path / f"val{suffix}")
    loaded = Predictions.load(tmp_path / f"val{suffix}")
    assert isinstance(loaded.logits, np.memmap)
    assert isinstance(loaded.features, np.memmap)


def test_a_compressed_npz_is_read(tmp_path):
    np.savez_compressed(tmp_path / "val.npz", **arrays())
    assert_same(Predictions.load(tmp_path / "val.npz"), Predictions(**arrays()))


def test_an_npz_behind_other_bytes_is_mapped_at_the_right_place(tmp_path):
    path = write(tmp_path / "val.npz", **arrays())
    path.write_bytes(b"#!/bin/sh\n" + path.read_bytes())
    assert_same(Predictions.load(path), Predictions(**arrays()))


def test_an_npz_with_its_own_extra_fields_is_mapped_at_the_right_place(tmp_path):
    write(tmp_path / "plain.npz", **arrays())
    with zipfile.ZipFile(tmp_path / "plain.npz") as plain, zipfile.ZipFile(tmp_path / "val.npz", "w") as other:
        for name in plain.namelist():
            info = zipfile.ZipInfo(name)
            info.extra = struct.pack("<HH5s", 0xCAFE, 5, b"extra")
            other.writestr(info, plain.read(name))
    assert_same(Predictions.load(tmp_path / "val.npz"), Predictions(**arrays()))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_prefix_reads_the_arrays_of_another_set(tmp_path, suffix):
    noise = {f"noise_{name}": array for name, array in arrays(n=7).items()}
    path = write(tmp_path / f"val{suffix}", **arrays(), **noise)
    assert_same(Predictions.load(path, prefix="noise_"), Predictions(**arrays(n=7)))
    assert_same(Predictions.load(path), Predictions(**arrays()))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_existing_file_is_kept_unless_told_otherwise(tmp_path, suffix):
    path = tmp_path / f"val{suffix}"
    path.write_text("precious")
    with pytest.raises(ValueError, match="exists; pass overwrite=True"):
        Predictions(**arrays()).save(path)
    assert path.read_text() == "precious"
    Predictions(**arrays()).save(path, overwrite=True)
    assert_same(Predictions.load(path), Predictions(**arrays()))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_predictions_may_replace_the_file_they_are_mapped_from(tmp_path, suffix):
    path = write(tmp_path / f"val{suffix}", **arrays())
    loaded = Predictions.load(path)
    loaded.save(path, overwrite=True)
    assert_same(loaded, Predictions(**arrays()))
    assert_same(Predictions.load(path), Predictions(**arrays()))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"absent\.npz: there is no such file"):
        Predictions.load(tmp_path / "absent.npz")


@pytest.mark.parametrize("name", ["val.csv", "val", "val.npy"])
def test_another_suffix_is_refused_with_those_that_will_do(tmp_path, name):
    kept = r"arrays are kept in \.npz, \.safetensors or \.parquet files"
    with pytest.raises(ValueError, match=kept + r", or as \.npy in a folder"):
        Predictions.load(tmp_path / name)
    with pytest.raises(ValueError, match=kept + "$"):
        Predictions(**arrays()).save(tmp_path / name)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("content", [b"", b"abc", b"id,logits\n1,2\n" * 20, b"\0" * 100, b"\xff" * 100])
def test_a_file_of_another_kind_is_refused(tmp_path, suffix, content):
    path = tmp_path / f"val{suffix}"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"val\{suffix} is not a whole {suffix[1:]} file"):
        Predictions.load(path)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_a_file_cut_short_is_refused(tmp_path, suffix, share):
    path = write(tmp_path / f"val{suffix}", **arrays(n=500))
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(ValueError, match="is not a whole"):
        Predictions.load(path)


def error_of_loading(path):
    try:
        Predictions.load(path)
    except ValueError as error:
        return str(error)
    return None


@pytest.mark.parametrize("compressed", [False, True])
@given(place=st.floats(0, 1, exclude_max=True), byte=st.integers(0, 255))
def test_an_altered_npz_loads_or_is_refused_by_name(tmp_path_factory, compressed, place, byte):
    path = tmp_path_factory.mktemp("altered") / "val.npz"
    (np.savez_compressed if compressed else np.savez)(path, **arrays())
    content = bytearray(path.read_bytes())
    content[int(place * len(content))] = byte
    path.write_bytes(content)
    assert error_of_loading(path) is None or path.name in error_of_loading(path)


@given(place=st.floats(0, 1, exclude_max=True), byte=st.integers(0, 255))
def test_an_altered_safetensors_loads_or_is_refused_by_name(tmp_path_factory, place, byte):
    path = write(tmp_path_factory.mktemp("altered") / "val.safetensors", **arrays())
    content = bytearray(path.read_bytes())
    content[int(place * len(content))] = byte
    path.write_bytes(content)
    assert error_of_loading(path) is None or path.name in error_of_loading(path)


@pytest.mark.parametrize("compressed", [False, True])
def test_python_objects_are_never_unpickled(tmp_path, compressed):
    (np.savez_compressed if compressed else np.savez)(tmp_path / "val.npz", logits=np.array([[1, "a"]], dtype=object))
    with pytest.raises(ValueError, match=r"val\.npz: logits holds Python objects, which are never unpickled"):
        Predictions.load(tmp_path / "val.npz")


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({"embeddings": np.zeros((N, D))}, "has only embeddings; it needs exactly one of logits and probs"),
        ({"logits": arrays()["logits"], "probs": probs()}, "has both; it needs exactly one of logits and probs"),
        ({"logits": np.zeros((0, C))}, "logits has no rows"),
        ({**arrays(), "labels": np.zeros(3, int)}, "labels has 3 samples; the other arguments have 20"),
        ({**arrays(), "features": np.zeros((3, D))}, "features has 3 samples; the other arguments have 20"),
    ],
)
def test_an_unusable_file_is_named_with_what_is_needed(tmp_path, suffix, named, message):
    path = write(tmp_path / f"val{suffix}", **named)
    with pytest.raises(ValueError, match=rf"val\{suffix}:? {message}"):
        Predictions.load(path)


def test_a_missing_prefix_says_which_names_are_needed(tmp_path):
    path = write(tmp_path / "val.npz", **arrays())
    with pytest.raises(ValueError, match="it needs exactly one of blur_logits and blur_probs"):
        Predictions.load(path, prefix="blur_")


def test_errors_under_a_prefix_name_the_array_of_the_file(tmp_path):
    path = write(tmp_path / "val.npz", noise_logits=arrays()["logits"], noise_labels=np.zeros(3, int))
    with pytest.raises(ValueError, match="noise_labels has 3 samples"):
        Predictions.load(path, prefix="noise_")


def write_safetensors(path, header, n_bytes):
    encoded = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(encoded)) + encoded + bytes(n_bytes))
    return path


def test_bfloat16_is_refused_with_what_to_save_instead(tmp_path):
    header = {"logits": {"dtype": "BF16", "shape": [2, 2], "data_offsets": [0, 8]}}
    path = write_safetensors(tmp_path / "val.safetensors", header, 8)
    with pytest.raises(ValueError, match=r"val\.safetensors: logits has dtype BF16, .*save it as F32"):
        Predictions.load(path)


def test_bfloat16_in_an_array_that_is_not_needed_does_no_harm(tmp_path):
    header = {
        "__metadata__": {"format": "pt"},
        "logits": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]},
        "extra": {"dtype": "BF16", "shape": [2], "data_offsets": [16, 20]},
    }
    assert len(Predictions.load(write_safetensors(tmp_path / "val.safetensors", header, 20))) == 2


@pytest.mark.parametrize(
    "entry",
    [
        {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 15]},
        {"dtype": "F32", "shape": [2, 2], "data_offsets": [8, 24]},
        {"dtype": "F32", "shape": [2, 2], "data_offsets": [-16, 0]},
        {"dtype": "F32", "shape": [-2, -2], "data_offsets": [0, 16]},
        {"dtype": "F32", "shape": [2.0, 2], "data_offsets": [0, 16]},
        {"dtype": "F32", "shape": 4, "data_offsets": [0, 16]},
        {"dtype": "F32", "shape": [2, 2]},
        [],
    ],
)
def test_a_safetensors_entry_that_does_not_fit_the_file_is_refused(tmp_path, entry):
    path = write_safetensors(tmp_path / "val.safetensors", {"logits": entry}, 16)
    with pytest.raises(ValueError, match="is not a whole safetensors file"):
        Predictions.load(path)


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_an_npz_member_smaller_than_its_header_claims_is_refused(tmp_path, compression):
    npy = tmp_path / "logits.npy"
    np.save(npy, np.zeros((2, 2)))
    content = npy.read_bytes().replace(b"(2, 2)", b"(9999999999999, 2)")[:-10]
    with zipfile.ZipFile(tmp_path / "val.npz", "w", compression) as archive:
        archive.writestr("logits.npy", content)
    with pytest.raises(ValueError, match="is not a whole npz file"):
        Predictions.load(tmp_path / "val.npz")


# Folders of .npy


@pytest.fixture
def folder(tmp_path):
    for name, array in arrays(np.float16).items():
        np.save(tmp_path / f"{name}.npy", array)
    return tmp_path


def test_a_folder_of_npy_is_mapped(folder):
    loaded = Predictions.load(folder)
    assert_same(loaded, Predictions(**arrays(np.float16)))
    assert isinstance(loaded.logits, np.memmap)
    assert isinstance(loaded.features, np.memmap)


def test_columns_in_fortran_s_order_are_mapped_too(folder):
    np.save(folder / "features.npy", np.asfortranarray(arrays()["features"]))
    np.testing.assert_array_equal(Predictions.load(folder).features, arrays()["features"])


def test_a_prefix_chooses_files_of_a_folder(folder):
    np.save(folder / "noise_probs.npy", probs())
    np.testing.assert_array_equal(Predictions.load(folder, prefix="noise_").probs, probs())


@pytest.mark.parametrize("share", [0.0, 0.1, 0.9])
def test_an_npy_cut_short_is_refused_by_name(folder, share):
    whole = (folder / "features.npy").read_bytes()
    (folder / "features.npy").write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(ValueError, match=r"features\.npy is not a whole npy file"):
        Predictions.load(folder)


def test_objects_in_a_folder_are_never_unpickled(folder):
    np.save(folder / "features.npy", np.array([[1, "a"]], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="features holds Python objects, which are never unpickled"):
        Predictions.load(folder)


def test_a_folder_without_scores_says_what_is_needed(folder):
    (folder / "logits.npy").unlink()
    with pytest.raises(ValueError, match="has only features, labels; it needs exactly one of logits and probs"):
        Predictions.load(folder)


# Names of samples


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("ids", [np.arange(100, 100 + N), np.array([f"Straße/{i}.jpg" for i in range(N)])])
def test_ids_are_kept_by_a_file(tmp_path, suffix, ids):
    Predictions(**arrays(), ids=ids).save(tmp_path / f"p{suffix}")
    np.testing.assert_array_equal(Predictions.load(tmp_path / f"p{suffix}").ids, ids)


def test_ids_go_with_their_samples():
    held = Predictions(**arrays(), ids=[f"s{i}" for i in range(N)])
    assert held.take([3, 1]).ids.tolist() == ["s3", "s1"]


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (np.arange(N - 1), f"ids has {N - 1} samples; the other arguments have {N}"),
        (np.zeros(N), r"ids has shape \(20,\) and dtype float64; it needs a whole number or a text a sample, \(20,\)"),
        (np.zeros((N, 2), int), r"ids has shape \(20, 2\)"),
    ],
)
def test_ids_are_one_number_or_text_a_sample(ids, message):
    with pytest.raises(ValueError, match=message):
        Predictions(**arrays(), ids=ids)
