from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
timm = pytest.importorskip("timm")

from PIL import Image  # noqa: E402

from proxcal import Predictions  # noqa: E402
from proxcal.datasets import open_samples  # noqa: E402
from proxcal.integrations.extraction import Options, extract_each, extract_to_file  # noqa: E402

QUICK = {"workers": 0, "batch_size": 12, "features": "float32"}


@pytest.fixture
def weights(tmp_path):
    """A folder with random weights of a small network for three classes."""
    torch.manual_seed(0)
    model = timm.create_model("resnet10t", num_classes=3)
    (tmp_path / "weights").mkdir()
    torch.save({"state_dict": model.state_dict()}, tmp_path / "weights" / "resnet10t.pth")
    return tmp_path / "weights"


def reference(name, path, images, **arguments):
    """timm by hand: its transform, its features before the classifier, its logits."""
    model = timm.create_model(name, checkpoint_path=str(path), **arguments).eval()
    transform = timm.data.create_transform(**timm.data.resolve_model_data_config(model), is_training=False)
    batch = torch.stack([transform(Image.open(path).convert("RGB")) for path in sorted(images.rglob("*.png"))])
    with torch.no_grad():
        features = model.forward_head(model.forward_features(batch), pre_logits=True)
        return model(batch).numpy(), features.numpy()


def test_logits_and_features_are_timms_own(images, weights, tmp_path):
    output = tmp_path / "out.npz"
    extract_to_file("timm:resnet10t", open_samples(images), output, Options(weights=weights, **QUICK))
    logits, features = reference("resnet10t", weights / "resnet10t.pth", images, num_classes=3)
    held = Predictions.load(output)
    np.testing.assert_allclose(held.logits, logits, atol=1e-4)
    np.testing.assert_allclose(held.features, features, atol=1e-4)


def test_a_transformer_of_a_folder_that_the_hub_left_does_as_well(images, tmp_path):
    from safetensors.torch import save_file

    torch.manual_seed(0)
    name = "test_vit.r160_in1k"
    model = timm.create_model("test_vit", num_classes=3)
    (tmp_path / name).mkdir()
    save_file(model.state_dict(), tmp_path / name / "model.safetensors")
    options = Options(weights=tmp_path, **QUICK)
    extract_to_file(f"timm:{name}", open_samples(images), tmp_path / "out.npz", options)
    logits, features = reference(name, tmp_path / name / "model.safetensors", images, num_classes=3)
    held = Predictions.load(tmp_path / "out.npz")
    np.testing.assert_allclose(held.logits, logits, atol=1e-4)
    np.testing.assert_allclose(held.features, features, atol=1e-4)


def test_a_glob_is_the_models_whose_weights_are_there(images, weights, tmp_path):
    (weights / "resnet14t.pth").write_bytes((weights / "resnet10t.pth").read_bytes())
    options = Options(weights=weights, **QUICK)
    with pytest.warns(UserWarning, match="left out: timm:resnet14t: .*resnet14t.pth does not fit timm:resnet14t"):
        done, failed = extract_each(["timm:*resnet1[04]t*"], open_samples(images), tmp_path / "zoo", options)
    assert Path(done.output).name == "resnet10t.npz"
    assert failed.model == "timm:resnet14t"


@pytest.mark.parametrize(
    ("spec", "options", "message"),
    [
        (
            "timm:resnet10t",
            {},
            r"timm:resnet10t needs weights, and none are downloaded: fetch them \(hf download timm/",
        ),
        ("timm:resnet18", {"weights": "weights"}, r"weights has no weights of resnet18, neither resnet18\.safetensors"),
        ("timm:resnet1000", {"weights": "weights"}, r"timm:resnet1000 is no model that timm [\d.]+ knows; timm:\*resn"),
        ("timm:resnet18", {"weights": "weights/resnet10t.pth"}, r"resnet10t\.pth does not fit timm:resnet18: Error"),
    ],
)
def test_what_is_missing_is_said_in_one_line(images, weights, monkeypatch, tmp_path, spec, options, message):
    monkeypatch.chdir(tmp_path)
    options = {name: Path(path) for name, path in options.items()}
    with pytest.raises(ValueError, match=message) as told:
        extract_to_file(spec, open_samples(images), Path("out.npz"), Options(**options, **QUICK))
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("spec", "options", "message"),
    [
        ("timm:*resnet10*", {}, "give --weights a folder with the weights of each"),
        ("timm:*vit_tiny*", {"weights": "weights"}, "weights has weights of none of the"),
        ("timm:nothing*", {"weights": "weights"}, r"timm:nothing\* is no model that timm"),
    ],
)
def test_a_glob_that_leads_nowhere_says_why(images, weights, monkeypatch, tmp_path, spec, options, message):
    monkeypatch.chdir(tmp_path)
    options = Options(**{name: Path(path) for name, path in options.items()})
    with pytest.raises(ValueError, match=message):
        list(extract_each([spec], open_samples(images), Path("zoo"), options))
