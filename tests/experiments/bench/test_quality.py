import numpy as np
import pytest

from proxcal.bundle import Predictions
from proxcal.experiments import evaluate
from proxcal.experiments.bench import quality


@pytest.fixture
def predictions():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(400, 4))
    return Predictions(
        logits=3 * features[:, :3] + rng.normal(size=(400, 3)), labels=features[:, :3].argmax(axis=1), features=features
    )


def test_numbers_are_those_of_evaluate(predictions, monkeypatch):
    monkeypatch.setattr(quality, "has_peer", lambda: False)
    monkeypatch.setattr(quality, "_BASES", ("identity", "temperature"))
    rows = quality.run_quality(predictions, (0, 1))
    expected = evaluate({"file": predictions}, bases=["identity", "temperature"], seeds=(0, 1)).of(
        "file", "temperature"
    )
    assert list(rows)[:2] == ["the model as it came", "the model as it came + proxcal"]
    assert rows["temperature"]["nll"] == expected["nll"].base_value
    assert rows["temperature + proxcal"]["nll"] == expected["nll"].ours_value


def test_the_peer_is_measured_where_it_is_installed(predictions, monkeypatch):
    pytest.importorskip("probmetrics")
    monkeypatch.setattr(quality, "_BASES", ())
    assert list(quality.run_quality(predictions, (0, 1))) == ["SVS (probmetrics)", "SVS (probmetrics) + proxcal"]
