from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
torchvision = pytest.importorskip("torchvision")

from PIL import Image  # noqa: E402

from proxcal import Predictions  # noqa: E402
from proxcal.datasets import open_samples  # noqa: E402
from proxcal.integrations.extraction import Options, extract_each, extract_to_file  # noqa: E402

NAME = "mnasnet0_5"
QUICK = {"workers": 0, "batch_size": 12, "features": "float32"}


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    return torchvision.models.get_model(NAME, num_classes=3).eval()


@pytest.fixture
def weights(model, tmp_path):
    (tmp_path / "weights").mkdir()
    torch.save(model.state_dict(), tmp_path / "weights" / f"{NAME}-0123abcd.pth")
    return tmp_path / "weights"


def test_logits_and_features_are_those_of_the_network_behind_its_own_preprocessing(images, weights, model, tmp_path):
    spec, options = f"torchvision:{NAME}", Options(weights=weights, **QUICK)
    extract_to_file(spec, open_samples(images), tmp_path / "out.npz", options)
    transform = torchvision.models.get_model_weights(NAME).DEFAULT.transforms()
    batch = torch.stack([transform(Image.open(path).convert("RGB")) for path in sorted(images.rglob("*.png"))])
    with torch.no_grad():
        features = model.layers(batch).mean((2, 3))
        logits = model(batch)
    held = Predictions.load(tmp_path / "out.npz")
    np.testing.assert_allclose(held.logits, logits.numpy(), atol=1e-4)
    np.testing.assert_allclose(held.features, features.numpy(), atol=1e-4)


def test_a_glob_is_the_models_whose_weights_are_there(images, weights, tmp_path):
    options = Options(weights=weights, **QUICK)
    (found,) = extract_each(["torchvision:mnasnet*"], open_samples(images), tmp_path / "zoo", options)
    assert (found.model, found.error) == (f"torchvision:{NAME}", None)


def test_preprocessing_is_that_of_the_weights_whose_file_it_is(monkeypatch, tmp_path):
    from proxcal.integrations.extraction import torchvision_models

    published = torchvision.models.ResNet18_Weights.IMAGENET1K_V1
    path = tmp_path / Path(published.url).name
    torch.save(torchvision.models.resnet18(num_classes=3).state_dict(), path)
    assert torchvision_models.load("resnet18", path).prepare.resize_size == published.transforms().resize_size


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("torchvision:resnet18", r"torchvision:resnet18 needs weights, and none are downloaded: fetch https://.*\.pth"),
        ("torchvision:fcn_resnet50", "is no classifier that torchvision knows"),
    ],
)
def test_what_is_missing_is_said(images, tmp_path, spec, message):
    with pytest.raises(ValueError, match=message):
        extract_to_file(spec, open_samples(images), tmp_path / "out.npz", Options())


def test_two_files_for_one_model_are_refused(images, weights, tmp_path):
    (weights / f"{NAME}-89abcdef.pth").write_bytes(b"")
    with pytest.raises(
        ValueError, match=f"has 2 files of weights of {NAME}: leave one, or name it {NAME}-0123abcd.pth"
    ):
        extract_to_file(f"torchvision:{NAME}", open_samples(images), tmp_path / "o.npz", Options(weights=weights))
