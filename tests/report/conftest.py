import warnings
from typing import Any

import numpy as np
import pytest

import proxcal as px

QUICK: dict[str, Any] = {"n_resamples": 50, "informed": "logistic"}


@pytest.fixture(scope="session")
def samples() -> px.Predictions:
    """600 samples of a real network with proximity bias."""
    return px.load_demo().take(np.arange(600))


@pytest.fixture(scope="session")
def images() -> np.ndarray:
    return np.random.default_rng(0).integers(256, size=(600, 70, 50, 3)).astype(np.uint8)


@pytest.fixture(scope="session")
def found(samples: px.Predictions, images: np.ndarray) -> px.Audit:
    """An audit with all that there can be."""
    train = px.load_demo().take(np.arange(600, 1600))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", px.ProxcalWarning)
        return px.audit(samples, ids=[f"<photo {i}>" for i in range(600)], images=images, train=train, **QUICK)


@pytest.fixture(scope="session")
def page(found: px.Audit, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("page") / "audit.html"
    found.to_html(path)
    return path.read_text(encoding="utf-8")
