import csv
import signal
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

import proxcal as px
from proxcal.bundle import Predictions
from proxcal.experiments import evaluate
from proxcal.experiments._sweep_record import HEADER, SweepRecord, lines, parse

MODULE = sys.modules["proxcal.experiments.sweep"]
QUICK = {"informed": "bin-mean-shift", "seeds": (1, 2)}
CALIBRATORS = ["identity", "temperature", "temperature+ours"]

pytestmark = pytest.mark.filterwarnings("ignore:left out:proxcal.ProxcalWarning")


def simulated(seed, n=240, n_classes=4):
    """Predictions of a model that is right less often where its features are rare."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(n_classes, size=n)
    rare = rng.random(n) < 0.3
    features = rng.normal(size=(n_classes, 5))[labels] + np.where(rare, 2.0, 0.3)[:, None] * rng.normal(size=(n, 5))
    logits = 2 * np.eye(n_classes)[labels] + np.where(rare, 1.5, 0.8)[:, None] * rng.normal(size=(n, n_classes))
    return {"logits": logits.astype(np.float32), "labels": labels, "features": features.astype(np.float32)}


@pytest.fixture(scope="module")
def zoo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("zoo")
    for seed, name in enumerate("abc"):
        np.savez(folder / f"{name}.npz", **simulated(seed))
    return sorted(folder.glob("*.npz"))


@pytest.fixture(scope="module")
def uninterrupted(zoo, tmp_path_factory):
    """The results file of a sweep that nothing disturbed."""
    output = tmp_path_factory.mktemp("whole") / "results.csv"
    px.sweep(zoo, output=output, **QUICK)
    return output.read_bytes()


@pytest.fixture
def worked(monkeypatch):
    """The file, seed and calibrators of every unit of work done since."""
    units = []
    run = MODULE._run

    def counted(plan, unit):
        units.append((unit.file.path.stem, unit.seed, sorted(unit.calibrators)))
        return run(plan, unit)

    monkeypatch.setattr(MODULE, "_run", counted)
    return units


def whole_rows(content):
    """The rows whose line has its end, without the header."""
    return content.decode(errors="ignore").split("\n")[1:-1]


def cells(content):
    return list(csv.reader(whole_rows(content)))


def test_there_is_a_record_for_each_file_calibrator_and_seed(zoo):
    found = px.sweep(zoo, **QUICK)
    keys = [(r.model, r.seed, r.calibrator) for r in found.records]
    assert sorted(keys) == sorted((m, s, c) for m in "abc" for s in (1, 2) for c in CALIBRATORS)


def test_numbers_are_those_of_evaluate_and_bias_test(zoo):
    found = px.sweep(zoo[:1], **QUICK)
    samples = Predictions.load(zoo[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", px.ProxcalWarning)
        expected = evaluate(samples, bases=["identity", "temperature"], **QUICK)
        calibration, test = samples.split(0.5, random_state=1)
        fitted = px.ProCal(informed="bin-mean-shift")
        fitted.fit(calibration.logits, calibration.labels, features=calibration.features)
        ours = fitted.calibrate(test.logits, test.features)
        bias = px.bias_test(ours.confidence, ours.predicted == test.labels, ours.log_proximity)
    by_key = {(r.base, "+ours" if r.method == "ours" else "", r.seed, r.metric): r.value for r in expected.records}
    for record in found.records:
        base, ours_too = record.calibrator.partition("+")[0], "+ours" * ("+" in record.calibrator)
        for metric in ("ece", "mce", "piece", "piece_minus_floor", "nll", "brier", "accuracy", "multiclass_nll"):
            assert getattr(record, metric) == by_key[base, ours_too, record.seed, metric]
    (record,) = (r for r in found.records if (r.seed, r.calibrator) == (1, "temperature+ours"))
    assert (record.bias_index, record.p_value) == (bias.bias_index, bias.p_value)
    assert (record.bias_low, record.bias_high) == bias.interval
    assert (record.n_calibration, record.n_test, record.informed) == (120, 120, "bin-mean-shift")


def test_the_model_as_it_came_is_there_once_whether_asked_for_or_not(zoo):
    both = px.sweep(zoo[:1], bases=["identity", "temperature"], **QUICK)
    assert {r.calibrator for r in both.records} == {*CALIBRATORS, "identity+ours"}
    alone = px.sweep(zoo[:1], bases=["identity"], seeds=[1], informed=None)
    assert [r.calibrator for r in alone.records] == ["identity"]


def test_one_search_a_split_and_side_serves_every_calibrator(zoo, monkeypatch):
    searched = []
    search = px.Proximity.neighbors
    monkeypatch.setattr(px.Proximity, "neighbors", lambda *args, **named: searched.append(1) or search(*args, **named))
    px.sweep(zoo, bases=["temperature", "histogram", "isotonic"], **QUICK)
    assert len(searched) == 3 * 2 * 2


def test_the_order_of_the_files_changes_nothing(zoo, uninterrupted, tmp_path):
    px.sweep(zoo[::-1], output=tmp_path / "r.csv", **QUICK)
    assert (tmp_path / "r.csv").read_bytes() == uninterrupted


def test_two_jobs_give_what_one_gives(zoo, uninterrupted, tmp_path):
    px.sweep(zoo, output=tmp_path / "r.csv", jobs=2, **QUICK)
    assert (tmp_path / "r.csv").read_bytes() == uninterrupted


def test_rows_are_read_back_to_the_bit(zoo, uninterrupted):
    found = px.sweep(zoo, **QUICK)
    rows = [parse(row) for row in cells(uninterrupted)]
    assert {r.key: r for r in rows} == {r.key: r for r in found.records}


# Killed and resumed


@pytest.mark.parametrize("share", [0, 0.001, 0.05, 0.3, 0.501, 0.7, 0.9, 0.999, 1])
def test_cut_anywhere_and_resumed_it_is_as_if_nothing_had_happened(zoo, uninterrupted, tmp_path, worked, share):
    output = tmp_path / "r.csv"
    left = uninterrupted[: round(share * len(uninterrupted))]
    output.write_bytes(left)
    px.sweep(zoo, output=output, **QUICK)
    assert output.read_bytes() == uninterrupted
    redone = [(model, seed, c) for model, seed, calibrators in worked for c in calibrators]
    assert len(redone) == len(set(redone)) == 3 * 2 * 3 - len(whole_rows(left))


@pytest.mark.parametrize("cut", [1, 2, 40, 500])
def test_a_torn_last_line_is_made_anew(zoo, uninterrupted, tmp_path, worked, cut):
    output = tmp_path / "r.csv"
    output.write_bytes(uninterrupted[:-cut])
    px.sweep(zoo, output=output, **QUICK)
    assert output.read_bytes() == uninterrupted
    assert len(worked) == 1


KILLER = """
    import os, signal, sys
    import proxcal as px
    sweep = sys.modules["proxcal.experiments.sweep"]
    calls = 0
    def deadly(work):
        def call(*args, **named):
            global calls
            calls += 1
            if calls == {call}:
                os.kill(os.getpid(), signal.SIGKILL)
            return work(*args, **named)
        return call
    {target} = deadly({target})
    px.sweep({files!r}, output={output!r}, informed="bin-mean-shift", seeds=(1, 2))
"""


MOMENTS = {  # the call that is the last, and the rows that are then in the file
    "os.fsync": (4, 9),  # the header's, then one a unit: the third unit's rows are written
    "os.replace": (2, 18),  # of the sorted file, when all is done
    "sweep.bias_test": (5, 3),  # in the second unit
}


@pytest.fixture(scope="module")
def killed(zoo, tmp_path_factory):
    """What sweeps killed at each of these moments left in their file."""
    folder, running = tmp_path_factory.mktemp("killed"), {}
    for target, (call, _) in MOMENTS.items():
        named = {"files": [str(path) for path in zoo], "output": str(folder / f"{target}.csv")}
        script = textwrap.dedent(KILLER.format(target=target, call=call, **named))
        running[target] = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE, text=True)
    for process in running.values():
        _, err = process.communicate()
        assert process.returncode == -signal.SIGKILL, err
    return {target: (folder / f"{target}.csv").read_bytes() for target in MOMENTS}


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
def test_killed_and_resumed_it_is_as_if_nothing_had_happened(zoo, uninterrupted, killed, tmp_path, worked, moment):
    output, (_, n_rows) = tmp_path / "r.csv", MOMENTS[moment]
    output.write_bytes(killed[moment])
    assert len(whole_rows(killed[moment])) == n_rows
    px.sweep(zoo, output=output, **QUICK)
    assert output.read_bytes() == uninterrupted
    assert sum(len(calibrators) for *_, calibrators in worked) == 18 - n_rows


def test_what_is_done_is_not_done_again(zoo, uninterrupted, tmp_path, worked):
    output = tmp_path / "r.csv"
    output.write_bytes(uninterrupted)
    found = px.sweep(zoo, output=output, **QUICK)
    assert worked == []
    assert len(found.records) == 18


def test_more_files_seeds_and_bases_add_to_the_results(zoo, tmp_path, worked):
    output = tmp_path / "r.csv"
    px.sweep(zoo[:2], output=output, **QUICK)
    worked.clear()
    px.sweep(zoo, output=output, informed="bin-mean-shift", seeds=(2, 3), bases=["histogram"])
    of_new_base = ["histogram", "histogram+ours"]
    assert sorted(worked) == [
        ("a", 2, of_new_base),
        ("a", 3, [*of_new_base, "identity"]),
        ("b", 2, of_new_base),
        ("b", 3, [*of_new_base, "identity"]),
        ("c", 2, [*of_new_base, "identity"]),
        ("c", 3, [*of_new_base, "identity"]),
    ]
    assert len(whole_rows(output.read_bytes())) == 12 + 2 * 2 + 4 * 3


def test_a_changed_file_is_measured_anew_and_a_moved_one_is_not(zoo, tmp_path, worked):
    model = tmp_path / "model.npz"
    model.write_bytes(zoo[0].read_bytes())
    px.sweep([model], output=tmp_path / "r.csv", **QUICK)
    moved = model.rename(tmp_path / "moved.npz")
    worked.clear()
    assert {r.model for r in px.sweep([moved], output=tmp_path / "r.csv", **QUICK).records} == {"moved"}
    assert worked == []
    moved.write_bytes(zoo[1].read_bytes())
    px.sweep([moved], output=tmp_path / "r.csv", **QUICK)
    assert [seed for _, seed, _ in worked] == [1, 2]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"fraction": 0.6}, "has results with fraction 0.5, and this sweep has fraction 0.6"),
        (
            {"informed": "logistic"},
            "has results with informed 'bin-mean-shift', and this sweep has informed 'logistic'",
        ),
        ({"paper": True}, "has results with paper False, and this sweep has paper True"),
        ({"n_neighbors": 5}, "has results with n_neighbors 10, and this sweep has n_neighbors 5"),
        ({"prefix": "noise_"}, "has results with prefix '', and this sweep has prefix 'noise_'"),
        ({"random_state": 1}, "has results with random_state 0, and this sweep has random_state 1"),
        ({"bases": [px.TemperatureScaling()]}, "has results with base TemperatureScaling 'nothing'"),
    ],
)
def test_results_of_other_settings_are_refused_and_kept(zoo, uninterrupted, tmp_path, worked, changed, message):
    output = tmp_path / "r.csv"
    output.write_bytes(uninterrupted)
    with pytest.raises(ValueError, match=message):
        px.sweep(zoo, output=output, **(QUICK | changed))
    assert output.read_bytes() == uninterrupted
    assert worked == []


def test_overwrite_starts_anew(zoo, uninterrupted, tmp_path):
    output = tmp_path / "r.csv"
    output.write_bytes(uninterrupted)
    px.sweep(zoo[:1], output=output, overwrite=True, **(QUICK | {"fraction": 0.6}))
    assert len(whole_rows(output.read_bytes())) == 6


@pytest.mark.parametrize("content", [b"mine", b"a,b\n1,2\n", HEADER.encode() + b"a,b\n", b"\x00\n", b"\xff\xfe\n"])
def test_a_file_that_is_not_of_a_sweep_is_refused_and_kept(zoo, tmp_path, content):
    output = tmp_path / "r.csv"
    output.write_bytes(content)
    with pytest.raises(ValueError, match=r"r\.csv does not hold results of a sweep"):
        px.sweep(zoo, output=output, **QUICK)
    assert output.read_bytes() == content


# Parquet


@pytest.mark.parametrize("left", ["nothing", "a part", "the collection too"])
def test_parquet_holds_the_rows_of_the_csv(zoo, uninterrupted, tmp_path, worked, left):
    parquet = pytest.importorskip("pyarrow.parquet")
    output, part = tmp_path / "r.parquet", tmp_path / "r.parquet.part.csv"
    if left == "a part":
        part.write_bytes(uninterrupted[: len(uninterrupted) // 2])
    if left == "the collection too":  # killed after the Parquet file was written
        part.write_bytes(uninterrupted)
        output.write_bytes(b"")
    px.sweep(zoo, output=output, **QUICK)
    assert not part.exists()
    table = [SweepRecord(**row) for row in parquet.read_table(output).to_pylist()]
    assert HEADER + lines(table) == uninterrupted.decode()
    worked.clear()
    px.sweep(zoo, output=output, **QUICK)
    assert worked == []


def test_parquet_without_pyarrow_is_told_before_any_work(zoo, tmp_path, monkeypatch, worked):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ValueError, match=r"pip install 'proxcal\[parquet\]'"):
        px.sweep(zoo, output=tmp_path / "r.parquet", **QUICK)
    assert worked == []


def test_ray_that_is_not_installed_is_told_before_any_work(zoo, tmp_path, monkeypatch, worked):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match=r'engine="ray" needs ray .* pip install "proxcal\[ray\]"'):
        px.sweep(zoo, output=tmp_path / "r.csv", engine="ray", **QUICK)
    assert list(tmp_path.iterdir()) == worked == []


def test_a_parquet_file_that_is_not_of_a_sweep_is_refused(zoo, tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "r.parquet").write_bytes(b"mine")
    with pytest.raises(ValueError, match="does not hold results of a sweep"):
        px.sweep(zoo, output=tmp_path / "r.parquet", **QUICK)


# Bad files


def bad_files(folder):
    """What is wrong with each, by name."""
    good = simulated(0)
    np.savez(folder / "nan.npz", **(good | {"logits": np.where(good["logits"] > 3, np.nan, good["logits"])}))
    np.savez(folder / "bare.npz", logits=good["logits"], labels=good["labels"])
    np.savez(folder / "unlabelled.npz", logits=good["logits"], features=good["features"])
    np.savez(folder / "objects.npz", **(good | {"family": np.array([None])}))
    whole = folder / "bare.npz"
    (folder / "torn.npz").write_bytes(whole.read_bytes()[:1000])
    (folder / "notes.txt").write_text("mine")
    return {
        "nan.npz": "not finite",
        "bare.npz": "has no features",
        "unlabelled.npz": "has no labels",
        "objects.npz": "never unpickled",
        "torn.npz": "is not a whole npz file",
        "notes.txt": "has the suffix '.txt'",
        "none.npz": "there is no such file",
    }


def test_bad_files_are_told_of_recorded_and_left_out(zoo, tmp_path):
    wrong = bad_files(tmp_path)
    output = tmp_path / "r.csv"
    with pytest.warns(px.ProxcalWarning) as told:
        found = px.sweep([*zoo, *(tmp_path / name for name in wrong)], output=output, **QUICK)
    errors = {Path(row.file).name: row.error for row in found.errors}
    assert errors.keys() == wrong.keys()
    rows = [parse(row) for row in cells(output.read_bytes())]
    for name, message in wrong.items():
        assert message in errors[name]
        assert any(name in str(w.message) and message in str(w.message) for w in told)
        assert any(Path(row.file).name == name and message in row.error for row in rows if row.error)
    assert {r.model for r in found.records} == {"a", "b", "c"}


def test_a_file_with_the_content_of_another_counts_once(zoo, tmp_path):
    copy = tmp_path / "copy.npz"
    copy.write_bytes(zoo[0].read_bytes())
    found = px.sweep([*zoo, copy], **QUICK)
    assert len(found.records) == 18
    assert "has the same content as" in found.errors[0].error


def test_bad_files_are_tried_again_and_mended_ones_have_no_error_left(zoo, tmp_path, worked):
    model, output = tmp_path / "model.npz", tmp_path / "r.csv"
    arrays = simulated(5)
    np.savez(model, logits=arrays["logits"], labels=arrays["labels"])
    torn = tmp_path / "torn.npz"
    torn.write_bytes(model.read_bytes()[:1000])
    for _ in range(2):
        assert len(px.sweep([*zoo, torn], output=output, **QUICK).errors) == 1
        found = px.sweep([*zoo, model], output=output, **QUICK)
        assert [(row.model, row.seed) for row in found.errors] == [("model", 1), ("model", 2)]
        assert output.read_text().count("has no features") == 2
        assert output.read_text().count("is not a whole npz file") == 1
    assert sum(name == "model" for name, *_ in worked) == 4
    np.savez(model, **arrays)
    found = px.sweep([*zoo, model], output=output, **QUICK)
    assert found.errors == []
    assert "has no features" not in output.read_text()


def test_no_file_that_can_be_used_is_an_error_that_says_why(tmp_path):
    bad_files(tmp_path)
    with pytest.raises(ValueError, match=r"files has none that can be used: .*bare\.npz has no features"):
        px.sweep([tmp_path / "bare.npz"], **QUICK)


def test_where_bias_cannot_be_tested_the_row_says_why_and_holds_the_rest(tmp_path):
    arrays = simulated(0)
    np.savez(tmp_path / "same.npz", **(arrays | {"features": np.ones_like(arrays["features"])}))
    found = px.sweep([tmp_path / "same.npz"], **QUICK)
    for record in found.records:
        assert record.bias_index is record.p_value is None
        assert "groups do not differ" in record.notes
        assert record.ece >= 0
    assert found.calibrators[0].bias_index is None
    assert found.calibrators[0].n_tested == 0


# Metadata


def test_metadata_from_a_csv(zoo, tmp_path):
    (tmp_path / "meta.csv").write_text("file,model,family,parameters\na,ResNet,CNN,1.1e7\nb.npz,,transformer,\n")
    found = px.sweep(zoo, metadata=tmp_path / "meta.csv", **QUICK)
    known = {(r.model, r.family, r.parameters) for r in found.records}
    assert known == {("ResNet", "CNN", 11_000_000), ("b", "transformer", None), ("c", None, None)}


def test_files_of_one_name_are_told_apart_by_their_folders(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for seed, folder in enumerate("xy"):
        (tmp_path / folder).mkdir()
        np.savez(tmp_path / folder / "m.npz", **simulated(seed))
    px.sweep(["x/m.npz"], output="r.csv", **QUICK)
    found = px.sweep(
        ["y/m.npz"], output="r.csv", metadata={"x/m.npz": {"family": "X"}, "y/m": {"family": "Y"}}, **QUICK
    )
    assert {r.family for r in found.records} == {"Y"}
    monkeypatch.chdir(tmp_path / "x")  # its m.npz is not the file that y/m.npz was
    px.sweep(["m.npz"], output="../r.csv", **QUICK)
    assert len(whole_rows((tmp_path / "r.csv").read_bytes())) == 12


def test_metadata_from_the_csv_beside_the_files(tmp_path):
    np.savez(tmp_path / "m.npz", **simulated(1))
    (tmp_path / "metadata.csv").write_text("file,family\nm,CNN\n")
    assert {r.family for r in px.sweep([tmp_path / "m.npz"], **QUICK).records} == {"CNN"}


def test_metadata_from_the_files_themselves_and_the_table_goes_first(tmp_path):
    arrays = simulated(1)
    np.savez(tmp_path / "n.npz", **arrays, model="N", family=np.array("CNN"), parameters=np.int64(7))
    np.savez_compressed(tmp_path / "z.npz", **simulated(2), family="CNN")
    save_file(simulated(3), tmp_path / "s.safetensors", metadata={"family": "MLP", "parameters": "8"})
    files = [tmp_path / name for name in ("n.npz", "s.safetensors", "z.npz")]
    found = px.sweep(files, metadata={"z": {"family": "other"}}, **QUICK)
    known = {(r.model, r.family, r.parameters) for r in found.records}
    assert known == {("N", "CNN", 7), ("s", "MLP", 8), ("z", "other", None)}


def test_metadata_that_changed_is_that_of_kept_rows_too(zoo, tmp_path, worked):
    output = tmp_path / "r.csv"
    px.sweep(zoo, output=output, **QUICK)
    worked.clear()
    px.sweep(zoo, output=output, metadata={name: {"family": "CNN"} for name in "abc"}, **QUICK)
    assert worked == []
    assert {parse(row).family for row in cells(output.read_bytes())} == {"CNN"}


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"a": {"parameters": "many"}}, "parameters of .*a.npz is 'many'; it needs a number"),
        ({"a": {"parameters": -1}}, "parameters of .*a.npz is -1; it needs a number"),
    ],
)
def test_a_count_that_is_none_is_an_error_of_that_file(zoo, metadata, message):
    found = px.sweep(zoo, metadata=metadata, **QUICK)
    with pytest.raises(ValueError, match=message):
        raise ValueError(found.errors[0].error)


def test_a_table_without_files_is_refused(zoo, tmp_path):
    (tmp_path / "meta.csv").write_text("name,family\na,CNN\n")
    with pytest.raises(ValueError, match=r"meta\.csv has no column 'file'"):
        px.sweep(zoo, metadata=tmp_path / "meta.csv", **QUICK)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"files": []}, "files must be a list of one predictions file or more"),
        ({"files": "a.npz"}, "files must be a list"),
        ({"bases": ["platt"]}, "base must be one of 'identity'"),
        ({"seeds": []}, "seeds must be whole numbers, one or more, each once"),
        ({"fraction": 2}, "fraction must be a number in"),
        ({"jobs": 0}, "jobs must be a whole number of at least 1; got 0"),
        ({"engine": "spark"}, "engine must be one of 'processes', 'ray'; got 'spark'"),
        ({"informed": "magic"}, "informed must be one of 'auto'"),
        ({"rows": "sort"}, "rows must be one of 'keep'"),
        ({"output": "r.txt"}, "output has the suffix '.txt'"),
        ({"output": "no/folder/r.csv"}, "there is no folder no/folder"),
    ],
)
def test_bad_arguments_are_named_before_any_work(zoo, worked, arguments, message):
    with pytest.raises(ValueError, match=message):
        px.sweep(**({"files": zoo} | QUICK | arguments))
    assert worked == []


def test_progress_counts_files_and_seeds_with_what_was_there(zoo, uninterrupted, tmp_path):
    (tmp_path / "r.csv").write_bytes(b"\n".join(uninterrupted.split(b"\n")[:7]) + b"\n")
    calls = []
    px.sweep(zoo, output=tmp_path / "r.csv", progress=lambda *call: calls.append(call), **QUICK)
    assert calls == [(2, 6, ""), (3, 6, "b"), (4, 6, "b"), (5, 6, "c"), (6, 6, "c")]
