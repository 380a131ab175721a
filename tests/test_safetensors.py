import numpy as np
import pytest
from safetensors.numpy import load_file

from proxcal._safetensors import SafetensorsFile, write_safetensors

ARRAYS = {
    "bool": np.array([True, False, True]),
    "byte": np.arange(5, dtype=np.uint8),
    "half": np.arange(6, dtype=np.float16).reshape(2, 3),
    "swapped": np.arange(6, dtype=">f8").reshape(2, 3),
    "transposed": np.arange(12, dtype=np.float32).reshape(3, 4).T,
    "scalar": np.array(7, dtype=np.int64),
    "nothing": np.empty((0, 4), dtype=np.float32),
}


@pytest.fixture
def path(tmp_path):
    write_safetensors(tmp_path / "a.safetensors", ARRAYS, {"note": "é"})
    return tmp_path / "a.safetensors"


def test_the_format_s_own_library_reads_the_same(path):
    found = load_file(path)
    assert found.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(found[name], array)


def test_what_is_read_is_what_was_written(path):
    file = SafetensorsFile(path)
    assert file.metadata == {"note": "é"}
    for name, array in ARRAYS.items():
        assert file.read(name).shape == array.shape
        np.testing.assert_array_equal(file.read(name), array)


def test_every_array_lies_where_its_type_may(path):
    file = SafetensorsFile(path)
    assert all(file.read(name).flags.aligned for name in ARRAYS)


def test_text_comes_back(tmp_path):
    write_safetensors(tmp_path / "a.safetensors", {"ids": np.array(["a", "ßß", ""])})
    assert SafetensorsFile(tmp_path / "a.safetensors").read("ids").tolist() == ["a", "ßß", ""]


def test_a_type_that_the_format_lacks_is_refused_by_name(tmp_path):
    with pytest.raises(ValueError, match="a has dtype complex128, which the safetensors format does not have"):
        write_safetensors(tmp_path / "a.safetensors", {"a": np.zeros(2, complex)})
