import numpy as np
import pytest

from proxcal.bundle import Predictions
from proxcal.datasets import load_demo


@pytest.fixture(scope="session")
def samples() -> Predictions:
    """600 samples of a real network with proximity bias."""
    return load_demo().take(np.arange(600))
