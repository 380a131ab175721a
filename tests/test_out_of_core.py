"""What lies in files goes through ProCal a block at a time, and comes out as it does from memory, to the bit."""

import tracemalloc

import numpy as np
import pytest

import proxcal as px
from proxcal import _mapped, _validation
from proxcal._mapped import mapping_of
from proxcal.experiments.split import run_split

N, CLASSES, COLUMNS = 6000, 200, 8  # three blocks, where large blocks are as small as they may be
FITTED = 500
pytestmark = pytest.mark.filterwarnings("ignore::proxcal.ProxcalWarning")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    rng = np.random.default_rng(0)
    folder = tmp_path_factory.mktemp("npy")
    labels = rng.integers(CLASSES, size=N) % 20
    strength = rng.lognormal(0, 0.7, size=(N, 1))
    centres = rng.normal(size=(CLASSES, COLUMNS))
    features = strength * centres[labels] + rng.normal(size=(N, COLUMNS))
    np.save(folder / "features.npy", features.astype(np.float16))
    np.save(folder / "logits.npy", (2 * features @ centres.T).astype(np.float16))
    np.save(folder / "labels.npy", labels)
    return folder


@pytest.fixture(scope="module")
def samples(folder):
    return px.Predictions.load(folder)


def fitted(samples, **settings):
    few = samples.take(np.arange(FITTED))
    return px.ProCal(**settings).fit(few.scores, few.labels, few.features)


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(_validation, "_LARGE_BLOCK_BYTES", 1)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"base": "neighbor-votes", "informed": "neighborhood"},
        {"base": "parameterized-temperature", "informed": "logistic"},
        {"base": "vector", "informed": ["logistic", "density-ratio"], "rows": "rerank"},
        {"base": "multi-isotonic", "informed": "bin-mean-shift", "rows": "paper"},
        {"informed": None},
    ],
    ids=str,
)
def test_blocks_are_the_whole_to_the_bit(samples, small_blocks, settings):
    calibrator = fitted(samples, **settings)
    whole = calibrator.calibrate(samples.scores, samples.features)
    blocks = list(calibrator.calibrate_blocks(samples.scores, samples.features))
    assert [block.start for block, _ in blocks] == [0, 2621, 5242]
    for name in ("probs", "predicted", "confidence", "log_proximity"):
        expected = getattr(whole, name)
        for block, part in blocks:
            if expected is None:
                assert getattr(part, name) is None
            else:
                np.testing.assert_array_equal(getattr(part, name), expected[block])
    np.testing.assert_array_equal(calibrator.confidence(samples.scores, samples.features), whole.confidence)


def test_memory_does_not_grow_with_the_samples(samples, small_blocks):
    calibrator = fitted(samples, informed="logistic")

    def peak(times):
        scores, features = (np.tile(array, (times, 1)) for array in (samples.scores, samples.features))
        tracemalloc.start()
        for _ in calibrator.calibrate_blocks(scores, features):
            pass
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    assert peak(3) < 1.1 * peak(1)


def test_the_check_of_blocks_is_that_of_the_whole(samples):
    calibrator = fitted(samples)
    with pytest.raises(ValueError, match="features has 9 columns; the reference set has 8"):
        next(calibrator.calibrate_blocks(samples.scores, np.zeros((N, 9))))


def test_a_split_is_judged_the_same_in_blocks(samples, monkeypatch):
    calibration, test = samples.take(np.arange(FITTED)), samples
    ((_, whole),) = run_split(calibration, test, {"a": px.ProCal(informed="logistic")})
    monkeypatch.setattr(_validation, "_LARGE_BLOCK_BYTES", 1)
    ((_, blocks),) = run_split(calibration, test, {"a": px.ProCal(informed="logistic")})
    for one, other in ((whole.base, blocks.base), (whole.ours, blocks.ours)):
        for name in ("predicted", "confidence", "correct", "log_proximity", "row_losses"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


# Where a few kilobytes are large


@pytest.fixture
def all_is_large(monkeypatch):
    monkeypatch.setattr(_mapped, "LARGE", 4 << 10)


def test_parts_of_a_file_stay_out_of_memory(samples, all_is_large):
    for part in samples.split(0.5, random_state=0):
        assert mapping_of(part.features) is not None
        assert mapping_of(part.logits) is not None


def test_an_evaluation_is_that_of_arrays_in_memory(samples, monkeypatch):
    few = samples.take(np.arange(600))
    held = px.Predictions(logits=np.array(few.logits), labels=few.labels, features=np.array(few.features))
    expected = px.evaluate(held, bases=["histogram"], seeds=[0], informed="logistic")
    monkeypatch.setattr(_mapped, "LARGE", 1 << 10)
    few = samples.take(np.arange(600))
    assert mapping_of(few.logits) is not None
    assert px.evaluate(few, bases=["histogram"], seeds=[0], informed="logistic").records == expected.records


def test_a_calibrator_s_large_arrays_are_mapped_and_the_same(samples, tmp_path, all_is_large):
    calibrator = fitted(samples, informed="logistic")
    calibrator.save(tmp_path / "a.proxcal")
    loaded = px.ProCal.load(tmp_path / "a.proxcal")
    assert mapping_of(loaded.proximity_.references_) is not None
    assert mapping_of(loaded.proximity_.center_) is None
    asked = samples.scores[:300], samples.features[:300]
    np.testing.assert_array_equal(loaded.predict_proba(*asked), calibrator.predict_proba(*asked))


def test_a_mapped_calibrator_may_replace_its_own_file(samples, tmp_path, all_is_large):
    path = tmp_path / "a.proxcal"
    fitted(samples, informed="logistic").save(path)
    loaded = px.ProCal.load(path)
    loaded.save(path, overwrite=True)
    np.testing.assert_array_equal(px.ProCal.load(path).proximity_.references_, loaded.proximity_.references_)


def test_references_are_saved_and_loaded_without_being_whole_in_memory(tmp_path, monkeypatch):
    rows = np.random.default_rng(0).normal(size=(60_000, 64)).astype(np.float16)
    np.save(tmp_path / "rows.npy", rows)
    prox = px.Proximity().fit(np.load(tmp_path / "rows.npy", mmap_mode="r"))
    calibrator = px.ProCal()
    calibrator.proximity_, calibrator.n_classes_ = prox, 2
    monkeypatch.setattr(_mapped, "LARGE", 1 << 20)
    tracemalloc.start()
    calibrator.save(tmp_path / "a.proxcal")
    px.ProCal.load(tmp_path / "a.proxcal")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < rows.nbytes / 2


def test_large_further_references_stay_out_of_memory(samples, all_is_large):
    calibrator = fitted(samples, base="neighbor-votes", informed="neighborhood")
    more = samples.features[FITTED:3000], samples.labels[FITTED:3000], samples.scores[FITTED:3000]
    asked = samples.scores[3000:3200], samples.features[3000:3200]
    held = px.ProCal(base="neighbor-votes", informed="neighborhood")
    held.fit(np.array(samples.scores[:FITTED]), samples.labels[:FITTED], np.array(samples.features[:FITTED]))
    expected = held.add_references(*map(np.array, more)).predict_proba(*asked)
    calibrator.add_references(*more)
    assert mapping_of(calibrator.proximity_.references_) is not None
    assert mapping_of(held.proximity_.references_) is None
    np.testing.assert_array_equal(calibrator.predict_proba(*asked), expected)
