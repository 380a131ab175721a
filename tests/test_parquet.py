import numpy as np
import pytest

from proxcal import _parquet
from proxcal._mapped import mapping_of
from proxcal.bundle import Predictions

arrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

N, C = 50, 3
LOGITS = np.random.default_rng(0).normal(size=(N, C)).astype(np.float32)
LABELS = np.arange(N) % C


def written(path, *, group=7, **columns):
    parquet.write_table(arrow.table(columns), path, row_group_size=group)
    return path


def lists(rows, kind):
    return arrow.array([[float(v) for v in row] for row in rows], type=kind)


KINDS = [
    arrow.list_(arrow.float32(), C),
    arrow.list_(arrow.float32()),
    arrow.large_list(arrow.float64()),
    arrow.list_(arrow.float16(), C),
]


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("batch", [1, 100, 1 << 20])
def test_row_groups_come_as_one_mapped_array(tmp_path, monkeypatch, kind, batch):
    monkeypatch.setattr(_parquet, "_BATCH_BYTES", batch)
    path = written(tmp_path / "a.parquet", logits=lists(LOGITS, kind), labels=LABELS, ids=[f"s{i}" for i in range(N)])
    loaded = Predictions.load(path)
    assert mapping_of(loaded.logits) is not None
    np.testing.assert_array_equal(loaded.logits, LOGITS.astype(kind.value_type.to_pandas_dtype()))
    np.testing.assert_array_equal(loaded.labels, LABELS)
    assert loaded.ids.tolist() == [f"s{i}" for i in range(N)]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_what_is_saved_comes_back(tmp_path, monkeypatch, dtype):
    monkeypatch.setattr(_parquet, "_BATCH_BYTES", 200)
    held = Predictions(logits=LOGITS.astype(dtype), labels=LABELS, features=LOGITS[:, :2], ids=[f"{i}" for i in LABELS])
    held.save(tmp_path / "a.parquet")
    loaded = Predictions.load(tmp_path / "a.parquet")
    assert loaded.logits.dtype == dtype
    for name in ("logits", "labels", "features", "ids"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(held, name))


def test_no_more_than_a_batch_is_read_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(_parquet, "_BATCH_BYTES", 8 * C * 4)
    read, numbers = [], _parquet.ParquetFile._numbers

    def counted(self, name, values):
        read.append(len(values))
        return numbers(self, name, values)

    monkeypatch.setattr(_parquet.ParquetFile, "_numbers", counted)
    Predictions.load(written(tmp_path / "a.parquet", logits=lists(LOGITS, KINDS[0]), group=N))
    assert max(read) <= 4 * C
    assert sum(read) == N * C


ROWS = [[1.0, 2.0]] * 30
F64 = arrow.list_(arrow.float64())


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"features": ROWS}, "has only features; it needs exactly one of logits and probs"),
        ({"logits": [*ROWS, None]}, "logits has nulls, the first in row 30; leave those samples out"),
        ({"logits": arrow.array([*ROWS, None], arrow.list_(arrow.float64(), 2))}, "logits has nulls, the first in row"),
        ({"logits": [*ROWS, [None, 1.0]]}, "logits has nulls among its numbers"),
        ({"logits": [*ROWS, [1.0]]}, "logits has 1 numbers in row 30 and 2 in those before; it needs as many in each"),
        ({"logits": [["a", "b"]] * 3}, r"logits has dtype <U1; it needs numbers"),
        ({"logits": ROWS, "labels": [*[0] * 29, None]}, "labels has nulls, the first in row 29"),
        ({"logits": ROWS, "ids": [{"a": 1}] * 30}, "ids holds struct.*; it needs numbers, a list of them, or text"),
        ({"logits": [1.0] * 4}, r"logits has shape \(4,\)"),
        ({"logits": arrow.array([], F64)}, r"logits has shape \(0,\)"),
    ],
)
def test_a_column_that_will_not_do_is_refused_by_name_and_row(tmp_path, columns, message):
    with pytest.raises(ValueError, match=f"a.parquet:? {message}"):
        Predictions.load(written(tmp_path / "a.parquet", **columns))


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
def test_a_file_cut_short_is_refused(tmp_path, share):
    path = written(tmp_path / "a.parquet", logits=lists(LOGITS, KINDS[0]))
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(ValueError, match=r"a\.parquet is not a whole Parquet file"):
        Predictions.load(path)


def test_damaged_pages_are_refused(tmp_path):
    path = written(tmp_path / "a.parquet", logits=lists(LOGITS, KINDS[0]))
    content = bytearray(path.read_bytes())
    content[4:200] = b"\xff" * 196
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"a\.parquet is not a whole Parquet file"):
        Predictions.load(path)


def test_arrays_of_other_lengths_are_refused_before_anything_is_written(tmp_path):
    with pytest.raises(ValueError, match=r"b has shape \(3,\); a \.parquet file takes .* as a has \(4\)"):
        _parquet.check_parquet({"a": np.zeros((4, 2)), "b": np.zeros(3)})


def test_without_pyarrow_the_extra_is_named(tmp_path, monkeypatch):
    path = written(tmp_path / "a.parquet", logits=lists(LOGITS, KINDS[0]))
    monkeypatch.setitem(__import__("sys").modules, "pyarrow.parquet", None)
    with pytest.raises(ImportError, match=r"a\.parquet is Parquet, which needs pyarrow.parquet .*proxcal\[parquet\]"):
        Predictions.load(path)
    with pytest.raises(ImportError, match=r"proxcal\[parquet\]"):
        Predictions(logits=LOGITS).save(tmp_path / "b.parquet")
