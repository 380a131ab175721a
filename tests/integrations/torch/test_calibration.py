"""Calibration in torch says what ProCal.calibrate says; the oracle throughout is that NumPy result."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import proxcal as px  # noqa: E402
from proxcal.integrations.torch import Calibration  # noqa: E402
from proxcal.integrations.torch.calibration.rows import Rows  # noqa: E402
from proxcal.integrations.torch.calibration.search import NeighborSearch  # noqa: E402
from proxcal.rows import rebuild  # noqa: E402

TOLERANCE = 1e-6
BASES = [
    *px.base.BASES,
    px.HistogramBinning(strategy="quantile"),
    px.IsotonicRegression(ties="break"),
    px.MultiIsotonicRegression(ties="break"),
    px.NeighborTemperatureScaling(n_neighbors=3),
]
INFORMED = [
    "logistic",
    "neighborhood",
    "bin-mean-shift",
    px.BinMeanShift(n_bins=3, n_proximity_bins=2, shrinkage=0.5),
    "density-ratio",
    px.DensityRatio(evaluation="exact"),
    px.DensityRatio(prior="share"),
    px.DensityRatio(coordinates="paper"),
    px.DensityRatio(coordinates="paper", evaluation="exact"),
    ["bin-mean-shift", "neighborhood"],
    None,
]


def assert_equal(found, expected, tolerance=TOLERANCE):
    """A CalibratedBatch, and what ProCal says of the same samples."""
    for name in ("probs", "predicted", "confidence", "log_proximity"):
        values = getattr(expected, name)
        if values is None:
            assert getattr(found, name) is None
        else:
            np.testing.assert_allclose(np.asarray(getattr(found, name)), values, atol=tolerance, err_msg=name)


def of(procal, samples, *, n=None):
    scores, features = (torch.from_numpy(np.array(array[:n])) for array in (samples.logits, samples.features))
    if procal.input == "probs":
        scores = torch.softmax(scores, 1)
    return Calibration(procal)(scores, features), procal.calibrate(scores.numpy(), features.numpy())


@pytest.mark.parametrize("base", BASES, ids=str)
@pytest.mark.parametrize("informed", ["neighborhood", None])
def test_every_base_gives_what_numpy_gives(fit, held_out, base, informed):
    assert_equal(*of(fit(base=base, informed=informed), held_out))


@pytest.mark.parametrize("informed", INFORMED, ids=str)
def test_every_informed_calibrator_gives_what_numpy_gives(fit, held_out, informed):
    assert_equal(*of(fit(informed=informed), held_out))


@pytest.mark.parametrize("base", ["histogram", "isotonic"])
def test_the_few_values_of_a_discrete_base_fall_into_the_same_bins(fit, seen, base):
    assert_equal(*of(fit(base=base, informed=px.BinMeanShift(shrinkage=0.5)), seen))


@pytest.mark.parametrize("rows", ["keep", "rerank", "paper"])
@pytest.mark.parametrize("base", ["identity", "multi-isotonic"])
def test_every_way_to_rebuild_rows_gives_what_numpy_gives(fit, held_out, rows, base):
    assert_equal(*of(fit(base=base, informed="neighborhood", rows=rows), held_out))


@pytest.mark.parametrize("base", ["temperature", "parameterized-temperature", "histogram", "neighbor-votes"])
def test_probabilities_as_scores_give_what_numpy_gives(fit, held_out, base):
    assert_equal(*of(fit(base=base, input="probs"), held_out))


@pytest.mark.parametrize(
    "settings", [{"metric": "cosine"}, {"normalize": False}, {"n_neighbors": 3}, {"index": "flat"}]
)
def test_every_way_to_measure_gives_what_numpy_gives(fit, held_out, settings):
    if "index" in settings:
        pytest.importorskip("faiss")
    assert_equal(*of(fit(informed="neighborhood", **settings), held_out))


@pytest.mark.parametrize("compressed", [{}, {"n_components": 4}, {"n_references": 150, "n_components": 4}])
def test_compressed_references_give_what_numpy_gives_of_them(fit, held_out, compressed):
    assert_equal(*of(fit(informed="neighborhood").compress(**compressed), held_out))


def test_float16_references_stay_float16(fit):
    assert Calibration(fit(informed="neighborhood").compress()).search.rows.dtype == torch.float16


def test_a_sample_alone_gets_what_it_gets_in_a_batch(fit, held_out):
    assert_equal(*of(fit(informed="neighborhood"), held_out, n=1))


def test_the_settings_of_the_paper_give_what_numpy_gives(seen, held_out):
    procal = px.ProCal.paper().fit(seen.logits, seen.labels, features=seen.features / 10)
    samples = px.Predictions(logits=held_out.logits, features=held_out.features / 10)
    assert_equal(*of(procal, samples))


def test_a_density_ratio_that_could_learn_nothing_changes_nothing(seen, held_out):
    with pytest.warns(px.ProxcalWarning):
        procal = px.ProCal(base="identity", informed="density-ratio").fit(
            seen.logits, seen.logits.argmax(axis=1), features=seen.features
        )
    assert_equal(*of(procal, held_out))


def test_the_largest_float32_probability_is_the_predicted_class(fit, seen):
    found, _ = of(fit(base="identity", informed="neighborhood"), seen)
    assert torch.equal(found.probs.argmax(1), found.predicted)


def rows_of_all_kinds():
    """Ordinary, saturated, of two scales and nearly tied rows."""
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(400, 7)) * np.repeat([1, 10, 300, 1e-3], 100)[:, None]
    logits[200:300, 1:] = -700 + rng.normal(size=(100, 6))
    rows = np.exp(logits - logits.max(axis=1, keepdims=True))
    return rows / rows.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("mode", ["keep", "rerank", "paper"])
@pytest.mark.parametrize("exponent", [1e-3, 0.7, 1.5])
def test_rows_of_all_kinds_get_any_confidence_as_in_numpy(mode, exponent):
    rows = rows_of_all_kinds()
    confidence = np.random.default_rng(1).choice([0, 1e-9, 0.1, 0.1428571, 0.15, 0.3, 0.6, 0.99, 1], len(rows))
    found = Rows(exponent, mode, 7)(*map(torch.from_numpy, (rows, rows.argmax(axis=1), confidence)))
    np.testing.assert_allclose(found.numpy(), rebuild(rows, confidence, exponent, mode), atol=1e-6)


@pytest.mark.parametrize("tile", [7, 64, 1 << 16])
def test_the_search_finds_the_neighbours_whatever_the_tiles(seen, monkeypatch, tile):
    monkeypatch.setattr("proxcal.integrations.torch.calibration.search._TILE", tile)
    search = px.Proximity(n_neighbors=5).fit(seen.features[:200])
    expected = search.neighbors(seen.features[200:], 20)
    found = NeighborSearch(search, 20)(torch.from_numpy(np.array(seen.features[200:])))
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_allclose(found.distances, expected.distances, atol=1e-7)


def test_copies_among_the_references_are_ordered_by_index():
    rows = np.repeat(np.eye(4, dtype=np.float32), 4, axis=0)
    search = px.Proximity(n_neighbors=3).fit(rows)
    found = NeighborSearch(search, 6)(torch.from_numpy(rows[4:6]))
    assert found.indices[:, :4].tolist() == [[4, 5, 6, 7]] * 2


def test_the_state_of_one_loads_into_another_of_the_same_shapes(fit, seen, held_out):
    other = px.ProCal(informed="neighborhood").fit(seen.logits[60:], seen.labels[60:], features=seen.features[60:])
    state = Calibration(fit(informed="neighborhood")).state_dict()
    loaded = Calibration(other)
    loaded.load_state_dict(state)
    scores, features = torch.from_numpy(np.array(held_out.logits)), torch.from_numpy(np.array(held_out.features))
    assert_equal(loaded(scores, features), fit(informed="neighborhood").calibrate(held_out.logits, held_out.features))


def test_a_coarser_type_is_for_the_network_alone(fit):
    calibration = Calibration(fit(informed="neighborhood"))
    before = {name: value.dtype for name, value in calibration.state_dict().items()}
    assert before == {name: value.dtype for name, value in calibration.half().state_dict().items()}


class Anyones:
    def fit(self, confidence, proximity, correct):
        return self

    def predict(self, confidence, proximity):
        return confidence


def test_anyones_calibrator_is_refused_with_those_that_work(fit):
    with pytest.raises(ValueError, match=r"Anyones as its informed.*'neighborhood'"):
        Calibration(fit(informed=Anyones()))


def test_bare_confidences_are_refused():
    procal = px.ProCal(informed=None).fit_confidence([0.2, 0.9, 0.7], [0, 1, 0])
    with pytest.raises(ValueError, match="bare confidences"):
        Calibration(procal)


@pytest.mark.parametrize(
    ("scores", "features", "message"),
    [
        ((2, 3), (2, 12), "3 columns.*4 classes"),
        ((2, 4), (2, 5), "5 columns.*12"),
        ((2, 4), None, "features is missing"),
    ],
)
def test_a_batch_of_other_shapes_is_told(fit, scores, features, message):
    with pytest.raises(ValueError, match=message):
        Calibration(fit(informed="neighborhood"))(torch.zeros(scores), features and torch.zeros(features))
