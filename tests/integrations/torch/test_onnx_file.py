"""What a server computes from the file is what NumPy computes."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")
onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
from torch import nn  # noqa: E402

from proxcal.integrations.torch import CalibratedModule, Calibration, onnx_file  # noqa: E402


def served(path, **inputs):
    session = onnxruntime.InferenceSession(path)
    found = session.run(None, {name: np.asarray(values) for name, values in inputs.items()})
    return dict(zip([output.name for output in session.get_outputs()], found, strict=True))


def assert_equal(found, expected, tolerance=1e-5):
    for name in ("probs", "predicted", "confidence", "log_proximity"):
        np.testing.assert_allclose(found[name], getattr(expected, name)[: len(found[name])], atol=tolerance)


def test_network_and_calibration_in_one_file_give_what_procal_says(fit, make_network, held_out, test_inputs, tmp_path):
    procal, path = fit(informed="neighborhood").compress(), tmp_path / "model.onnx"
    CalibratedModule(make_network().train(), procal).to_onnx(path, test_inputs[:2])
    expected = procal.calibrate(held_out.logits, held_out.features)
    for n in (1, 3, len(test_inputs)):
        assert_equal(served(path, input=test_inputs[:n]), expected)
    kinds = {tuple(tensor.dims): tensor.data_type for tensor in onnx.load(path).graph.initializer}
    assert kinds[procal.proximity_.references_.shape] == onnx.TensorProto.FLOAT16


@pytest.mark.parametrize(
    "settings",
    [
        {"base": "isotonic", "informed": "density-ratio", "rows": "paper"},
        {"base": "neighbor-votes", "informed": "logistic", "rows": "rerank"},
    ],
    ids=str,
)
def test_calibration_alone_takes_scores_and_features(fit, held_out, tmp_path, settings):
    procal, path = fit(**settings), tmp_path / "calibration.onnx"
    Calibration(procal).to_onnx(path)
    found = served(path, scores=held_out.logits, features=held_out.features)
    assert_equal(found, procal.calibrate(held_out.logits, held_out.features))


def test_a_calibration_without_neighbours_takes_scores_alone(fit, held_out, tmp_path):
    Calibration(fit(informed=None)).to_onnx(tmp_path / "calibration.onnx")
    found = served(tmp_path / "calibration.onnx", scores=held_out.logits)
    assert set(found) == {"probs", "predicted", "confidence"}


def test_a_file_that_is_there_stays_unless_told(fit, tmp_path):
    (path := tmp_path / "model.onnx").write_text("mine")
    with pytest.raises(ValueError, match="exists"):
        Calibration(fit(informed=None)).to_onnx(path)
    assert path.read_text() == "mine"


@pytest.mark.parametrize(
    ("example", "message"),
    [(None, "Sequential does not tell"), (torch.zeros(1, 6), "batch of 1"), ("x", "must be a tensor")],
)
def test_an_example_that_cannot_be_traced_is_told(fit, make_network, tmp_path, example, message):
    module = CalibratedModule(make_network(), fit(informed=None))
    with pytest.raises(ValueError, match=message):
        module.to_onnx(tmp_path / "model.onnx", example)


def test_more_than_a_file_holds_is_told_before_anything_is_traced(fit, make_network, tmp_path, monkeypatch):
    monkeypatch.setattr(onnx_file, "_MOST_BYTES", 100)
    with pytest.raises(ValueError, match="keep fewer references"):
        CalibratedModule(make_network(), fit(informed=None)).to_onnx(tmp_path / "model.onnx", torch.zeros(2, 6))


def test_a_network_stays_in_training_mode(fit, make_network, tmp_path):
    model = nn.Sequential(make_network())
    module = CalibratedModule(model.train(), fit(informed=None))
    module.to_onnx(tmp_path / "model.onnx", {"input": torch.zeros(2, 6)})
    assert all(part.training for part in module.modules())
