import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

torch = pytest.importorskip("torch")

CLASSES = ("cat", "dog", "emu")
SIZE = 24


@pytest.fixture(scope="session")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three classes of four coloured noises each."""
    root = tmp_path_factory.mktemp("images")
    rng = np.random.default_rng(0)
    for c, name in enumerate(CLASSES):
        (root / name).mkdir()
        for i in range(4):
            pixels = rng.integers(0, 120, (SIZE + i, SIZE, 3), dtype=np.uint8)
            pixels[..., c] += 120
            Image.fromarray(pixels).save(root / name / f"{i}.png")
    return root


@pytest.fixture
def damaged(images: Path, tmp_path: Path) -> Path:
    """The same, one of them cut short and one of them no image at all."""
    root = tmp_path / "damaged"
    for path in images.rglob("*.png"):
        (root / path.relative_to(images)).parent.mkdir(parents=True, exist_ok=True)
        (root / path.relative_to(images)).write_bytes(path.read_bytes())
    whole = (root / "cat/1.png").read_bytes()
    (root / "cat/1.png").write_bytes(whole[: len(whole) // 2])
    (root / "emu/3.png").write_text("not an image")
    return root


MODULE = """
import numpy as np
import torch
from torch import nn


def prepare(image):
    return torch.from_numpy(np.array(image.resize((8, 8)))).permute(2, 0, 1) / 255


def small(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Flatten(), nn.Linear(192, 6), nn.Tanh(), nn.Linear(6, 3)), prepare


def probabilities():
    model, prepare = small()
    return nn.Sequential(model, nn.Softmax(1)), prepare


def four_classes():
    return nn.Sequential(nn.Flatten(), nn.Linear(192, 4)), prepare


def large():
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.head = nn.Linear(192, 3)

        def forward(self, x):
            return self.head(1e6 * x.flatten(1))

    return Scaled(), prepare


def bag_of_letters(text):
    counts = torch.zeros(26)
    for letter in text:
        if letter.isalpha():
            counts[ord(letter.lower()) - 97] += 1
    return counts


def letters():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(26, 4), nn.Linear(4, 3)), bag_of_letters


def model_alone():
    return small()[0]
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], tuple]:
    """A module own.py in the folder that the test runs in; what its `small` returns."""
    import importlib
    import sys

    (tmp_path / "own.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "own", raising=False)
    importlib.invalidate_caches()
    return lambda: importlib.import_module("own").small()


@pytest.fixture
def expected(images: Path, own: Callable[[], tuple]) -> tuple[np.ndarray, np.ndarray]:
    """Logits and features of `small` for each image by itself, in the folder's order."""
    model, prepare = own()
    rows = []
    with torch.no_grad():
        for path in sorted(images.rglob("*.png")):
            hidden = model[:3](prepare(Image.open(path))[None])
            rows.append((model[3](hidden)[0].numpy(), hidden[0].numpy()))
    return tuple(np.array(column) for column in zip(*rows, strict=True))


@pytest.fixture(scope="session")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("texts") / "texts.csv"
    lines = ["text,label"] + [f"{word} {'very ' * i}{word},{label}" for i in range(3) for word, label in WORDS]
    path.write_text("\n".join(lines))
    return path


WORDS = (("good", "pos"), ("bad", "neg"), ("so", "neutral"))
VOCABULARY = {word: i for i, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "good", "bad", "so", "very"])}


@pytest.fixture(scope="session")
def tokenizer_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tokenizer of eight words."""
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    added = [
        {"id": i, "content": word, "special": True, "single_word": False, "lstrip": False, "rstrip": False,
         "normalized": False}
        for word, i in VOCABULARY.items() if word.startswith("[")
    ]  # fmt: skip
    processor = {
        "type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2],
    }  # fmt: skip
    path.write_text(
        json.dumps(
            {
                "version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None,
                "pre_tokenizer": {"type": "Whitespace"}, "post_processor": processor, "decoder": None,
                "model": {"type": "WordLevel", "vocab": VOCABULARY, "unk_token": "[UNK]"},
            }
        )
    )  # fmt: skip
    return path
