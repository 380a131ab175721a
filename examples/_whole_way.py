"""What `from_images.py` and `from_sentences.py` share: a folder to work in, a linear head, and the commands from there
to an audit."""

import contextlib
import importlib.util
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

import proxcal as px
from proxcal.cli import run
from proxcal.datasets import Samples

BATCH = 64
COMMANDS = (
    "extract {model} --weights weights.pth --data {calibration} -o calibration.npz",
    "extract {model} --weights weights.pth --data {test} -o test.npz",
    "evaluate --calibration calibration.npz --test test.npz",
    "fit calibration.npz -o model.proxcal",
    "apply model.proxcal test.npz -o confidence.csv",
    "audit test.npz --calibration calibration.npz --train train.npz -o audit.html",
)


def absent(*packages: str) -> str | None:
    """The first of these that is not installed."""
    return next((name for name in packages if importlib.util.find_spec(name) is None), None)


def new_folder() -> Path:
    """The one named on the command line, or a temporary one."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        sys.exit(f"{folder} is not empty; give a new folder")
    return folder


def train_head(model: Any, head: Any, samples: Samples, inputs: list[Any], folder: Path) -> None:
    """Fit the head to what the model makes of the samples, by logistic regression as scikit-learn has it. The model's
    weights are kept, and what it says of the samples that it learned from."""
    import torch

    from proxcal.integrations.torch import extract

    starts = range(0, len(samples), BATCH)
    batches = ((torch.stack(inputs[i : i + BATCH]), samples.labels[i : i + BATCH]) for i in starts)
    seen = extract(model, batches, head=head, features="float32")
    fitted = LogisticRegression(max_iter=1000).fit(seen.features, seen.labels)
    if len(fitted.classes_) != len(head.weight):
        sys.exit(f"the samples are of {len(fitted.classes_)} classes, and the head is for {len(head.weight)}")
    with torch.no_grad():
        head.weight.copy_(torch.from_numpy(fitted.coef_))
        head.bias.copy_(torch.from_numpy(fitted.intercept_))
    torch.save(model.state_dict(), folder / "weights.pth")
    logits = seen.features @ fitted.coef_.T + fitted.intercept_
    px.Predictions(logits=logits, labels=seen.labels, features=seen.features).save(folder / "train.npz")
    accuracy = np.mean(logits.argmax(axis=1) == seen.labels)
    print(f"A head was trained on {len(samples)} samples, of which it gets {accuracy:.1%}.")


def calibrate_and_audit(folder: Path, **names: str) -> None:
    """The commands, each shown as it is typed in the folder."""
    with contextlib.chdir(folder):
        for command in COMMANDS:
            line = command.format(**names)
            print(f"\n$ proxcal {line}\n", flush=True)
            if code := run(line.split()):
                sys.exit(code)
