import csv
from dataclasses import replace

import numpy as np
import pytest

import proxcal as px
from proxcal.experiments.reproduce import METHODS, PROTOCOLS, reproduce
from proxcal.experiments.reproduce import sensitivity as studies
from proxcal.experiments.reproduce.protocols import METRICS

pytestmark = pytest.mark.filterwarnings("ignore::proxcal.ProxcalWarning")  # small samples


@pytest.fixture
def three_methods(monkeypatch):
    def use(name):
        monkeypatch.setitem(PROTOCOLS, name, replace(PROTOCOLS[name], given_methods=("Conf", "TS", "HB")))

    return use


def values(rows):
    return {(row.method, row.metric, side): getattr(row, side) for row in rows for side in ("base", "ours")}


def expected_values(evaluation):
    name = {base: method for method, base in METHODS.items()}
    sides = {"base": "base_value", "ours": "ours_value"}
    return {
        (name[c.base], c.metric, side): 100 * getattr(c, value)
        for c in evaluation.summary
        for side, value in sides.items()
    }


def test_a_table_is_what_evaluate_says_with_the_papers_settings_and_seeds(make_file, three_methods):
    three_methods("imagenet-lt")
    path = make_file("val", 200)
    bases = [METHODS[method] for method in ("Conf", "TS", "HB")]
    expected = px.evaluate(px.Predictions.load(path), bases=bases, paper=True)
    found = reproduce("5", [path], scaled=True)
    assert values(found.rows) == pytest.approx(expected_values(expected))
    assert [row.p_value for row in found.rows] == pytest.approx([c.p_value for c in expected.summary])


def test_a_given_test_set_is_what_evaluate_says_of_it(make_file, three_methods):
    three_methods("mnli-match")
    paths = make_file("calibration", 150), make_file("test", 100, seed=1)
    calibration, test = map(px.Predictions.load, paths)
    bases = [METHODS[method] for method in ("Conf", "TS", "HB")]
    expected = px.evaluate(calibration, test=test, bases=bases, paper=True)
    found = reproduce("mnli-match", paths, scaled=True)
    assert values(found.rows) == pytest.approx(expected_values(expected))
    assert [row.p_value for row in found.rows] == pytest.approx([c.p_value for c in expected.summary])


def test_what_the_paper_prints_stands_beside(make_file, three_methods):
    three_methods("imagenet-lt")
    rows = {(row.method, row.metric): row for row in reproduce("imagenet-lt", [make_file("val")], scaled=True).rows}
    assert rows["TS", "piece"][-4:] == ("3.8407", "3.8478", "base", False)
    assert rows["TS", "nll"][-4:] == (None,) * 4


def test_networks_are_known_by_their_names(make_file, three_methods):
    three_methods("imagenet")
    files = [make_file("timm_vit_base"), f"resnet50 mine={make_file('a', seed=1)}", make_file("other", seed=2)]
    rows = reproduce("imagenet", files, scaled=True).rows
    printed = {row.model: row.paper_ours for row in rows if (row.method, row.metric) == ("TS", "ece")}
    assert printed == {"ViT": "0.9047", "ResNet50": "1.7964", "other": None}


def test_two_files_of_one_network_are_refused(make_file):
    files = [make_file("vit_a"), make_file("vit_b", seed=1)]
    with pytest.raises(ValueError, match="two files are ViT by their names; tell them apart as NAME=FILE"):
        reproduce("imagenet", files, scaled=True)


def test_own_settings_are_evaluates_defaults_and_are_told_of(make_file, three_methods):
    three_methods("imagenet-lt")
    path = make_file("val", 200)
    found = reproduce("imagenet-lt", [path], scaled=True, own_settings=True)
    expected = px.evaluate(px.Predictions.load(path), bases=["histogram"])
    ours = {row.metric: row.ours for row in found.rows if row.method == "HB"}
    assert ours["ece"] == pytest.approx(100 * expected.of("predictions", "histogram")["ece"].ours_value)
    assert found.deviations[-1] == "proxcal's own settings in place of the paper's"
    assert "NOT the paper's protocol" in found.title


def test_images_that_calibrate_are_not_tested_under_shift(make_file, monkeypatch):
    tested = []
    monkeypatch.setattr(
        "proxcal.experiments.reproduce.shift.pair_of", lambda calibrator, test, neighbors: tested.append(test)
    )
    monkeypatch.setattr("proxcal.experiments.reproduce.shift.values_of", lambda *_: [])
    clean = make_file("clean")
    reproduce("imagenet-c", [clean, f"noise-1={clean}"], scaled=True)
    features = px.Predictions.load(clean).features
    _, test = px.Predictions.load(clean).split(0.5, random_state=2020)
    np.testing.assert_array_equal(tested[0].features, test.features)
    assert len(features) == 2 * len(tested[0])


def test_a_shift_is_measured_as_procal_paper_measures_it(make_file):
    clean, shifted = make_file("clean"), make_file("noise-1", 100, seed=1, shift=1.0)
    found = reproduce("imagenet-c", [clean, shifted], scaled=True)
    eces = []
    for seed in range(2020, 2025):
        calibration, _ = px.Predictions.load(clean).split(0.5, random_state=seed)
        drawn = np.sort(np.random.default_rng(seed).permutation(100)[:60])
        test = px.Predictions.load(shifted).take(drawn)
        cal = px.ProCal.paper(base="identity")
        cal.fit(calibration.logits, calibration.labels, features=calibration.features)
        correct = cal.predict(test.logits, features=test.features) == test.labels
        eces.append(px.ece(cal.confidence(test.logits, features=test.features), correct))
    (row,) = (row for row in found.rows if (row.variant, row.method, row.metric) == ("noise-1", "Conf", "ece"))
    assert row.ours == pytest.approx(100 * np.mean(eces))


def test_each_k_is_procal_with_so_many_neighbours_measured_by_one_ruler(make_file, monkeypatch):
    monkeypatch.setattr(studies, "NEIGHBORS", (1, 10, 1000))
    path = make_file("val")
    found = reproduce("hyper-k", [path], scaled=True)
    assert list(dict.fromkeys(row.variant for row in found.rows)) == ["1", "10"]  # there are not 1000
    pieces = []
    for seed in range(2020, 2025):
        calibration, test = px.Predictions.load(path).split(0.5, random_state=seed)
        cal = px.ProCal.paper(base="identity", n_neighbors=1)
        cal.fit(calibration.logits, calibration.labels, features=calibration.features)
        given = test.logits, test.features
        ruler = px.Proximity(n_neighbors=10, normalize=False).fit(calibration.features).log_score(test.features)
        pieces.append(px.piece(cal.confidence(*given), cal.predict(*given) == test.labels, ruler))
    (row,) = (row for row in found.rows if (row.variant, row.method, row.metric) == ("1", "Conf", "piece"))
    assert row.ours == pytest.approx(100 * np.mean(pieces))


def test_each_distance_is_measured(make_file):
    pytest.importorskip("faiss")
    found = reproduce("distance", [make_file("val")], scaled=True)
    assert list(dict.fromkeys(row.variant for row in found.rows)) == ["L2", "cosine", "IVFFlat", "IVFPQ"]
    base = {row.base for row in found.rows if (row.method, row.metric) == ("MIR", "piece")}
    assert len(base) == 1  # a base knows of no distance, and the ruler is one


def test_distances_say_which_extra_they_need(make_file, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "faiss", None)
    with pytest.raises(ImportError, match=r'IVFFlat and IVFPQ needs faiss .*pip install "proxcal\[faiss\]"'):
        reproduce("distance", [make_file("val")], scaled=True)


@pytest.mark.parametrize("own_settings", [False, True])
def test_times_are_of_each_method_beside_the_papers(make_file, monkeypatch, own_settings):
    monkeypatch.setattr("proxcal.experiments.reproduce.timing.N_RUNS", 2)
    found = reproduce("inference-time", [make_file("val")], scaled=True, network_ms=5, own_settings=own_settings)
    rows = {row.method: row for row in found.rows}
    assert list(rows)[:11] == ["NS", "Conf", "TS", "ETS", "PTS", "PTSK", "HB", "IR", "MIR", "BIN*", "DEN*"]
    assert rows["DEN*"].paper_added_percent == pytest.approx(12.32, abs=0.01)
    assert rows["NS"].paper_added_percent == pytest.approx(0.71, abs=0.01)
    extra = rows["TS"].own_ms - rows["Conf"].own_ms
    assert rows["TS"].added_percent == pytest.approx(100 * extra / (5 + rows["Conf"].own_ms))
    assert all(row.own_ms > 0 for row in found.rows)


def test_without_the_networks_time_nothing_is_added_to_it(make_file, monkeypatch):
    monkeypatch.setattr("proxcal.experiments.reproduce.timing.N_RUNS", 2)
    found = reproduce("inference-time", [make_file("val")], scaled=True)
    assert {row.added_percent for row in found.rows} == {None}


@pytest.mark.parametrize("network_ms", [0, -1, float("nan")])
def test_a_networks_time_is_above_0(make_file, network_ms):
    with pytest.raises(ValueError, match="network_ms must be a number in"):
        reproduce("inference-time", [make_file("val")], scaled=True, network_ms=network_ms)


def test_overfitting_is_that_of_ten_groups_by_raw_features(make_file):
    held_out, train = make_file("val", 400), make_file("train", 600, seed=1)
    found = reproduce("overfit", [held_out, train], scaled=True)
    references, learned = map(px.Predictions.load, (held_out, train))
    search = px.Proximity(normalize=False).fit(references.features)
    expected = px.overfitting_by_proximity(
        learned.logits.argmax(axis=1) == learned.labels,
        search.log_score(learned.features),
        references.logits.argmax(axis=1) == references.labels,
        search.log_score(),
        10,
    )
    assert [row.gap for row in found.rows] == pytest.approx(list(100 * expected.gap))
    assert [row.paper_gap for row in found.rows] == ["31.67", *[None] * 8, "0.6"]


def test_tables_and_picture_are_written(make_file, tmp_path, three_methods):
    three_methods("imagenet-lt")
    found = reproduce("imagenet-lt", [make_file("val")], scaled=True, output=tmp_path / "out")
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"imagenet-lt.csv", "imagenet-lt-splits.csv", "imagenet-lt.png"}
    with (tmp_path / "out" / "imagenet-lt.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(found.rows)
    assert {row["metric"] for row in rows if row["paper_base"]} == set(METRICS)
    with (tmp_path / "out" / "imagenet-lt-splits.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) == 5 * 2 * len(found.rows)


def test_what_is_there_is_kept_before_any_work(make_file, tmp_path):
    (tmp_path / "hyper-k.png").write_text("mine")
    with pytest.raises(ValueError, match=r"hyper-k\.png exists"):
        reproduce("hyper-k", [make_file("val")], scaled=True, output=tmp_path)


def test_a_run_that_was_stopped_while_it_wrote_writes_again(make_file, tmp_path, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    files = [make_file("clean"), make_file("noise-1", seed=1)]
    with monkeypatch.context() as patched:
        patched.setattr("proxcal.experiments.reproduce.pictures.picture", stop)
        with pytest.raises(KeyboardInterrupt):
            reproduce("imagenet-c", files, scaled=True, output=tmp_path)
    found = reproduce("imagenet-c", files, scaled=True, output=tmp_path)
    assert all(path.is_file() for path in found.paths(tmp_path))


def test_a_run_that_was_stopped_resumes_with_what_is_missing(make_file, tmp_path, monkeypatch):
    files = [make_file("clean"), make_file("noise-1", seed=1), make_file("blur-1", seed=2)]
    whole = reproduce("imagenet-c", files, scaled=True)

    def stop(done, total, text):
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reproduce("imagenet-c", files, scaled=True, output=tmp_path / "out", progress=stop)
    measured = []
    measure = px.experiments.reproduce.run.measure
    monkeypatch.setattr(
        "proxcal.experiments.reproduce.run.measure",
        lambda *args, **named: measured.append(1) or measure(*args, **named),
    )
    resumed = reproduce("imagenet-c", files, scaled=True, output=tmp_path / "out")
    assert resumed.rows == whole.rows
    assert len(measured) == (10 - 3) * 2 * 2  # of ten parts, of two methods with two sides each
    assert not (tmp_path / "out" / "imagenet-c.parts").exists()
