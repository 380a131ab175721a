import os
import signal

import numpy as np
import pytest

import proxcal as px

ray = pytest.importorskip("ray")
from proxcal.integrations.ray import apply_dataset, sharded  # noqa: E402


def dataset_of(samples, **named):
    """Rows with their number, in several blocks."""
    columns = {"row": np.arange(len(samples)), "logits": samples.logits, "features": samples.features}
    return ray.data.from_items(
        [{named.get(name, name): array[i] for name, array in columns.items()} for i in range(len(samples))],
        override_num_blocks=6,
    )


def rows_of(dataset):
    """Its columns as arrays, in the order of the rows' numbers."""
    rows = sorted(dataset.take_all(), key=lambda row: row["row"])
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def assert_applied(found, calibrator, samples):
    expected = calibrator.calibrate(samples.logits, samples.features)
    np.testing.assert_array_equal(found["row"], np.arange(len(samples)))
    np.testing.assert_array_equal(found["predicted"], expected.predicted)
    np.testing.assert_array_equal(found["confidence"], expected.confidence)
    np.testing.assert_array_equal(found["proximity"], np.exp(expected.log_proximity))
    if "calibrated" in found:
        np.testing.assert_array_equal(found["calibrated"], expected.probs)


@pytest.mark.parametrize("kept", ["in the object store", "in a file", "in shards"])
def test_what_is_said_of_a_dataset_is_what_is_said_here_to_the_bit(cluster, calibrator, halves, tmp_path, kept):
    given = calibrator
    if kept == "in a file":
        given = tmp_path / "model.proxcal"
        calibrator.save(given)
    if kept == "in shards":
        given = sharded(calibrator, n_shards=2, actor_options={"num_cpus": 0.1})
    applied = apply_dataset(dataset_of(halves[1]), given, probs="calibrated", batch_size=100, actors=2)
    found = rows_of(applied)
    assert_applied(found, calibrator, halves[1])
    np.testing.assert_array_equal(found["logits"], halves[1].logits)


def test_columns_are_taken_by_name_and_lists_are_rows(cluster, calibrator, halves):
    pa = pytest.importorskip("pyarrow")
    test = halves[1]
    columns = {"row": range(len(test)), "scores": list(test.logits), "embedding": list(test.features)}
    given = ray.data.from_arrow(pa.table(columns))
    applied = apply_dataset(given, calibrator, scores="scores", features="embedding", actors=(1, 2))
    assert_applied(rows_of(applied), calibrator, test)


def test_a_worker_killed_in_the_middle_changes_nothing(cluster, calibrator, halves, tmp_path):
    mark = str(tmp_path / "killed")

    class Deadly(px.ProCal):
        """Ends its process at the third batch, once."""

        n_asked = 0

        def calibrate(self, scores, features=None):
            self.n_asked += 1
            if self.n_asked == 3 and not os.path.exists(mark):
                os.close(os.open(mark, os.O_CREAT))
                os.kill(os.getpid(), signal.SIGKILL)
            return super().calibrate(scores, features)

    deadly = Deadly()
    vars(deadly).update(vars(calibrator))
    found = rows_of(apply_dataset(dataset_of(halves[1]), deadly, batch_size=30, actors=2))
    assert os.path.exists(mark)
    assert_applied(found, calibrator, halves[1])


def test_bare_confidences(cluster, halves):
    calibration, test = halves
    sure, sure_of_test = (1 / (1 + np.exp(-part.logits.max(axis=1).astype(float))) for part in halves)
    right = calibration.logits.argmax(axis=1) == calibration.labels
    model = px.ProCal(informed="logistic").fit_confidence(sure, right, calibration.features)
    items = [{"row": i, "sure": sure_of_test[i], "features": test.features[i]} for i in range(len(test))]
    found = rows_of(apply_dataset(ray.data.from_items(items), model, scores="sure", actors=1))
    assert found.keys() == {"row", "sure", "features", "confidence"}
    np.testing.assert_array_equal(found["confidence"], model.confidence(sure_of_test, test.features))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"actors": 0}, "actors must be a whole number of at least 1; got 0"),
        ({"batch_size": 0}, "batch_size must be a whole number of at least 1; got 0"),
        ({"calibrator": "none.proxcal"}, r"none\.proxcal: there is no such file"),
        ({"calibrator": px.ProCal()}, "not fitted"),
    ],
)
def test_bad_arguments_are_named_before_any_work(cluster, calibrator, halves, arguments, message):
    with pytest.raises((ValueError, OSError), match=message):
        apply_dataset(dataset_of(halves[1]), **({"calibrator": calibrator} | arguments))


@pytest.mark.parametrize(
    ("columns", "arguments", "message"),
    [
        ({"features": "embedding"}, {}, "dataset has no column 'features'; it has row, logits, embedding"),
        ({"row": "confidence"}, {}, "dataset has a column 'confidence', which would be lost"),
    ],
)
def test_columns_that_do_not_fit_are_named(cluster, calibrator, halves, columns, arguments, message):
    applied = apply_dataset(dataset_of(halves[1], **columns), calibrator, actors=1, **arguments)
    with pytest.raises(Exception, match=message):
        applied.take_all()
