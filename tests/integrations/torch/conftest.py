"""A small network, what it says of a few hundred samples, and calibrators fitted on most of them."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

import proxcal as px  # noqa: E402
from proxcal.integrations.torch import extract  # noqa: E402

N_CALIBRATION, N_TEST, N_CLASSES, WIDTH = 300, 60, 4, 6


@pytest.fixture(scope="session")
def make_network() -> Callable[[], Any]:
    def make() -> Any:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(WIDTH, 12), nn.ReLU(), nn.Dropout(0.5), nn.Linear(12, N_CLASSES))
        model[3].weight.data *= 8
        return model.eval()

    return make


@pytest.fixture(scope="session")
def inputs() -> Any:
    return torch.randn(N_CALIBRATION + N_TEST, WIDTH, generator=torch.Generator().manual_seed(1))


@pytest.fixture(scope="session")
def seen(make_network, inputs) -> px.Predictions:
    """Logits twice as large as the labels bear out."""
    found = extract(make_network(), inputs.split(100), features="float32")
    noise = np.random.default_rng(1).gumbel(size=found.logits.shape)
    labels = (np.asarray(found.logits) / 2 + noise).argmax(axis=1)
    return px.Predictions(logits=np.array(found.logits), features=np.array(found.features), labels=labels)


@pytest.fixture(scope="session")
def test_inputs(inputs) -> Any:
    return inputs[N_CALIBRATION:]


@pytest.fixture(scope="session")
def held_out(seen) -> px.Predictions:
    return seen.take(np.arange(N_CALIBRATION, N_CALIBRATION + N_TEST))


@pytest.fixture(scope="session")
def fit(seen) -> Callable[..., px.ProCal]:
    """ProCal of these settings on the first samples, fitted once."""
    fitted: dict[str, px.ProCal] = {}
    calibration = seen.take(np.arange(N_CALIBRATION))

    def fit(**settings: Any) -> px.ProCal:
        scores = calibration.logits
        if settings.get("input") == "probs":
            scores = torch.softmax(torch.from_numpy(np.array(scores)), 1).numpy()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", px.ProxcalWarning)
            if repr(settings) not in fitted:
                procal = px.ProCal(**settings)
                fitted[repr(settings)] = procal.fit(scores, calibration.labels, features=calibration.features)
        return fitted[repr(settings)]

    return fit
