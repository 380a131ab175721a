from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from proxcal.bundle import Predictions
from proxcal.cli import main
from proxcal.datasets import load_demo

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="session")
def samples() -> Predictions:
    """600 samples of a real network with proximity bias."""
    return load_demo().take(np.arange(600))


@pytest.fixture(scope="session")
def files(samples: Predictions, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Predictions in files: two halves, one half's probabilities, and one without labels."""
    folder = tmp_path_factory.mktemp("files")
    first, second = samples.split(0.5)
    z = np.exp(second.logits.astype(np.float64))
    made = {
        "first": first,
        "second": second,
        "probs": Predictions(probs=z / z.sum(axis=1, keepdims=True), labels=second.labels, features=second.features),
        "unlabelled": Predictions(logits=second.logits, features=second.features),
        "bare": Predictions(logits=second.logits, labels=second.labels),
    }
    for name, predictions in made.items():
        predictions.save(folder / f"{name}.npz")
    return {name: folder / f"{name}.npz" for name in made}


@pytest.fixture
def proxcal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run the command in an empty folder: its exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    def run(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as left:
            main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return int(left.value.code or 0), captured.out, captured.err

    return run
