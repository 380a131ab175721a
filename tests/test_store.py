import json
import re
from itertools import product

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import proxcal as px
from proxcal import _store
from proxcal.base import TemperatureScaling
from proxcal.informed._normal_scores import NormalScores
from proxcal.proximity import Proximity

CLASSES = {cls.__name__: cls for cls in (TemperatureScaling, NormalScores, Proximity)}


@pytest.fixture
def fitted():
    return Proximity(n_neighbors=3).fit(np.random.default_rng(0).normal(size=(40, 5)).astype(np.float16))


@pytest.fixture
def saved(fitted, tmp_path):
    path = tmp_path / "a.proxcal"
    _store.write(path, fitted)
    return path


def rewrite(path, *, header=None, arrays=None):
    """Write the file again with other content, as another program could."""
    tensors = load_file(path) if arrays is None else arrays
    save_file(tensors, path, metadata={"proxcal": json.dumps(header)} if header is not None else None)


def header_of(path):
    raw = path.read_bytes()
    size = int.from_bytes(raw[:8], "little")
    return json.loads(json.loads(raw[8 : 8 + size])["__metadata__"]["proxcal"])


def test_what_is_read_is_what_was_written(fitted, saved):
    read = _store.read(saved, CLASSES)
    assert read.get_params() == fitted.get_params()
    assert read.state_arrays().keys() == fitted.state_arrays().keys()
    for name, value in fitted.state_arrays().items():
        np.testing.assert_array_equal(read.state_arrays()[name], value)
        assert np.asarray(read.state_arrays()[name]).dtype == np.asarray(value).dtype


@pytest.mark.parametrize("array", [np.arange(12).reshape(3, 4).T, np.arange(5)[::-1], np.empty((0, 3)), np.array(2.5)])
def test_arrays_of_any_layout_come_back(tmp_path, array):
    scores = NormalScores.from_state({}, {"values_": array})
    _store.write(tmp_path / "a", scores)
    np.testing.assert_array_equal(_store.read(tmp_path / "a", CLASSES).values_, array)


@pytest.mark.parametrize(
    "value", [None, True, 3, 0.1, float("inf"), "x", {"a": {"b": 1}}, [1, ["y", None]], np.float32(0.5)]
)
def test_plain_values_come_back(tmp_path, value):
    _store.write(tmp_path / "a", NormalScores.from_state({}, {"values_": value}))
    assert _store.read(tmp_path / "a", CLASSES).values_ == value


def test_a_value_that_cannot_be_saved_is_named_and_nothing_is_written(tmp_path):
    with pytest.raises(ValueError, match="values_ is a set, which proxcal cannot save"):
        _store.write(tmp_path / "a", NormalScores.from_state({}, {"values_": {1}}))
    assert not list(tmp_path.iterdir())


def test_an_existing_file_is_kept(saved, fitted):
    before = saved.read_bytes()
    with pytest.raises(ValueError, match="exists"):
        _store.write(saved, fitted)
    assert saved.read_bytes() == before


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        _store.read(tmp_path / "none", CLASSES)


def test_a_folder_is_said_to_be_one(tmp_path):
    with pytest.raises(ValueError, match="is a folder"):
        _store.read(tmp_path, CLASSES)


def test_a_newer_schema_is_refused_with_both_numbers(saved):
    rewrite(saved, header=header_of(saved) | {"schema": _store.SCHEMA + 1})
    with pytest.raises(ValueError, match=r"has schema 2; this version of proxcal reads up to 1: upgrade"):
        _store.read(saved, CLASSES)


def test_a_newer_schema_is_told_whatever_else_is_new_in_it(saved):
    rewrite(saved, header={"schema": 99, "contents": []})
    with pytest.raises(ValueError, match="has schema 99"):
        _store.read(saved, CLASSES)


def test_every_truncation_is_refused(saved):
    raw = saved.read_bytes()
    for n in range(len(raw)):
        saved.write_bytes(raw[:n])
        with pytest.raises(ValueError, match="damaged"):
            _store.read(saved, CLASSES)


def test_every_changed_bit_is_refused(saved):
    raw = saved.read_bytes()
    for i, bit in product(range(len(raw)), (0, 3, 7)):
        saved.write_bytes(raw[:i] + bytes([raw[i] ^ 1 << bit]) + raw[i + 1 :])
        with pytest.raises(ValueError, match=r"damaged|not a calibrator|schema"):
            _store.read(saved, CLASSES)


def test_a_changed_byte_of_an_array_is_refused(saved):
    raw = bytearray(saved.read_bytes())
    raw[-3] ^= 1
    saved.write_bytes(raw)
    with pytest.raises(ValueError, match="damaged: its content does not match its checksum"):
        _store.read(saved, CLASSES)


def test_a_changed_setting_is_refused(saved):
    header = header_of(saved)
    header["estimator"]["params"]["dict"]["n_neighbors"] = 4
    rewrite(saved, header=header)
    with pytest.raises(ValueError, match="checksum"):
        _store.read(saved, CLASSES)


@pytest.mark.parametrize(
    "header",
    [None, {}, [], {"schema": "1"}, {"schema": 1}, {"schema": 0}, {"schema": True}, {"schema": 1, "estimator": 3}],
)
def test_a_safetensors_file_of_something_else_is_refused(saved, header):
    rewrite(saved, header=header)
    with pytest.raises(ValueError, match="is not a calibrator saved by proxcal"):
        _store.read(saved, CLASSES)


@pytest.mark.parametrize("content", [b"hello", b"PK\x03\x04" + bytes(100), b"\x80\x04" + bytes(100)])
def test_a_file_of_another_kind_is_refused(tmp_path, content):
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(ValueError, match="is not a calibrator saved by proxcal, or is damaged"):
        _store.read(tmp_path / "a", CLASSES)


def test_only_known_classes_are_built(saved):
    with pytest.raises(ValueError, match="holds a Proximity, which this version of proxcal does not know"):
        _store.read(saved, {})


def test_an_unknown_class_is_told_with_its_file_and_a_way_out(saved):
    with pytest.raises(ValueError, match=rf"^{re.escape(str(saved))} holds a Proximity, .* upgrade proxcal$"):
        _store.read(saved, {})


def test_an_unknown_class_is_not_taken_for_a_known_one_that_is_not_wanted(saved):
    with pytest.raises(ValueError, match="does not know: upgrade proxcal"):
        _store.read(saved, {"ProCal": px.ProCal}, px.ProCal)


def test_a_part_is_not_taken_for_the_whole(saved):
    with pytest.raises(ValueError, match=r"holds a Proximity, not a ProCal: give the file of a ProCal$"):
        px.ProCal.load(saved)


def test_a_monitors_file_is_no_calibrators_and_both_are_named(tmp_path):
    path = tmp_path / "state.proxcal"
    _store.write(path, px.Monitor())
    message = (
        f"{path} holds a Monitor, not a ProCal: give the file of a ProCal; a Monitor is for Monitor.load or proxcal"
        " monitor --state"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        px.ProCal.load(path)


def test_a_calibrators_file_is_no_monitors_and_both_are_named(tmp_path):
    path = tmp_path / "model.proxcal"
    _store.write(path, px.ProCal())
    message = (
        f"{path} holds a ProCal, not a Monitor: give the file of a Monitor; a ProCal is for ProCal.load or a command's"
        " MODEL"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        px.Monitor.load(path, px.ProCal())


@pytest.mark.parametrize("kind", _store.TAKEN_BY)
def test_every_kind_of_file_has_its_class_with_load_and_save(kind):
    assert callable(getattr(px, kind).load)
    assert callable(getattr(px, kind).save)
