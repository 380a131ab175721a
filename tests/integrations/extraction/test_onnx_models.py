import json

import numpy as np
import pytest

pytest.importorskip("torch")
onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from PIL import Image  # noqa: E402

from proxcal import Predictions  # noqa: E402
from proxcal.datasets import open_samples  # noqa: E402
from proxcal.integrations.extraction import Options, extract_each, extract_to_file  # noqa: E402

QUICK = {"workers": 0, "batch_size": 5, "features": "float32"}
SIDE, WIDTH = 16, 3 * 16 * 16
RNG = np.random.default_rng(0)
HIDDEN = RNG.normal(size=(WIDTH, 6), scale=WIDTH**-0.5).astype(np.float32)
SCORES, BIAS = RNG.normal(size=(6, 3)).astype(np.float32), np.float32([0.1, 0.2, 0.3])
WEIGHTS = {"hidden": HIDDEN, "scores": SCORES, "bias": BIAS}

TRUNK = [("Flatten", ["image"], ["flat"]), ("MatMul", ["flat", "hidden"], ["a"]), ("Tanh", ["a"], ["embedding"])]
GEMM = [("Gemm", ["embedding", "scores", "bias"], ["out"])]
MATMUL = [("MatMul", ["embedding", "scores"], ["b"]), ("Add", ["bias", "b"], ["c"]), ("Identity", ["c"], ["out"])]
TRANSPOSED = [
    ("Transpose", ["scores"], ["t1"]),
    ("Transpose", ["t1"], ["t2"]),
    ("Gemm", ["embedding", "t2", "bias"], ["out"]),
]
SOFTMAX = [("Gemm", ["embedding", "scores", "bias"], ["b"]), ("Softmax", ["b"], ["out"])]
CONVOLUTION = [
    ("Reshape", ["embedding", "square"], ["map"]),
    ("Conv", ["map", "kernel", "bias"], ["d"]),
    ("GlobalAveragePool", ["d"], ["e"]),
    ("Flatten", ["e"], ["out"]),
]


def save(path, nodes, shape=("n", 3, SIDE, SIDE), processor=True, **external):
    """A network of these nodes, and beside it how its images are prepared."""
    held = WEIGHTS | {"square": np.int64([-1, 6, 1, 1]), "kernel": np.ascontiguousarray(SCORES.T)[:, :, None, None]}
    used = {name for _, inputs, _ in nodes for name in inputs}
    graph = helper.make_graph(
        [helper.make_node(*node, name=f"/{node[0]}_{i}") for i, node in enumerate(nodes)],
        "classifier",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, [shape[0], 3])],
        [numpy_helper.from_array(array, name) for name, array in held.items() if name in used],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.parent.mkdir(exist_ok=True)
    onnx.save(model, path, **external)
    if processor:
        settings = {
            "image_processor_type": "ViTImageProcessor", "size": {"height": SIDE, "width": SIDE},
            "image_mean": [0.5] * 3, "image_std": [0.5] * 3,
        }  # fmt: skip
        (path.parent / "preprocessor_config.json").write_text(json.dumps(settings))
    return path


def expected(images, prepared):
    """The network by hand: logits and features of each image."""
    rows = [prepared(Image.open(path).convert("RGB")) for path in sorted(images.rglob("*.png"))]
    embedding = np.tanh(np.stack(rows).reshape(len(rows), -1) @ HIDDEN)
    return embedding @ SCORES + BIAS, embedding


def told(image):
    """What the file beside the network says, by transformers' own class."""
    from transformers import ViTImageProcessor

    half = {"image_mean": [0.5] * 3, "image_std": [0.5] * 3}
    made = ViTImageProcessor(size={"height": SIDE, "width": SIDE}, **half)
    return made(images=image, return_tensors="np")["pixel_values"][0]


def run(path, images, output, **options):
    extract_to_file(f"onnx:{path}", open_samples(images), output, Options(**(QUICK | options)))
    return Predictions.load(output)


def check(held, logits, features):
    np.testing.assert_allclose(held.features, features, atol=1e-4)
    np.testing.assert_allclose(held.logits, logits, atol=1e-4)


@pytest.mark.parametrize("head", [GEMM, MATMUL, TRANSPOSED, SOFTMAX, CONVOLUTION])
def test_logits_and_features_are_what_the_head_gives_and_is_given(images, tmp_path, head):
    pytest.importorskip("transformers")
    held = run(save(tmp_path / "m.onnx", TRUNK + head), images, tmp_path / "out.npz")
    check(held, *expected(images, told))


def test_a_batch_of_the_size_that_the_graph_is_made_for_is_filled_up(images, tmp_path):
    pytest.importorskip("transformers")
    path = save(tmp_path / "m.onnx", TRUNK + GEMM, shape=(3, 3, SIDE, SIDE))
    check(run(path, images, tmp_path / "out.npz"), *expected(images, told))


def test_weights_may_lie_in_a_file_beside_it(images, tmp_path):
    pytest.importorskip("transformers")
    external = {"save_as_external_data": True, "location": "m.data", "size_threshold": 0}
    path = save(tmp_path / "m.onnx", TRUNK + GEMM, **external)
    assert (tmp_path / "m.data").is_file()
    check(run(path, images, tmp_path / "out.npz"), *expected(images, told))


@pytest.mark.parametrize("layer", ["embedding", "/Gemm_3"])
def test_a_layer_is_named_by_its_node_or_by_the_tensor(images, tmp_path, layer):
    pytest.importorskip("transformers")
    path = save(tmp_path / "m.onnx", TRUNK + GEMM)
    check(run(path, images, tmp_path / "out.npz", head=layer), *expected(images, told))


def usual(image):
    """As torchvision prepares images for ImageNet's networks: the middle 7/8."""
    scale = 256 / 224 * SIDE / min(image.size)
    small = image.resize([round(scale * side) for side in image.size], Image.Resampling.BILINEAR)
    left, top = ((side - SIDE) // 2 for side in small.size)
    middle = np.asarray(small)[top : top + SIDE, left : left + SIDE]
    return (middle / 255 - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]


def test_without_a_file_that_says_how_images_are_prepared_as_usual_and_it_is_told(images, tmp_path):
    path = save(tmp_path / "m.onnx", TRUNK + GEMM, processor=False)
    with pytest.warns(UserWarning, match=r"m\.onnx has no preprocessor_config\.json beside it: images are prepared as"):
        held = run(path, images, tmp_path / "out.npz")
    check(held, *expected(images, lambda image: usual(image).transpose(2, 0, 1).astype(np.float32)))


@pytest.mark.filterwarnings("ignore::proxcal.ProxcalWarning")
def test_channels_may_come_last(images, tmp_path):
    path = save(tmp_path / "m.onnx", TRUNK + GEMM, shape=("n", SIDE, SIDE, 3), processor=False)
    check(run(path, images, tmp_path / "out.npz"), *expected(images, lambda image: usual(image).astype(np.float32)))


def test_texts_are_tokenized_by_the_files_beside_it(texts, tokenizer_file, tmp_path):
    transformers = pytest.importorskip("transformers")
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=str(tokenizer_file), **special)
    tokenizer.save_pretrained(tmp_path / "good")
    names = {"0": "neg", "1": "neutral", "2": "pos"}
    config = {"model_type": "bert", "id2label": names, "max_position_embeddings": 12}
    (tmp_path / "good" / "config.json").write_text(json.dumps(config))
    table = RNG.normal(size=(8, 6)).astype(np.float32)
    ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["n", "length"])
    graph = helper.make_graph(
        [
            helper.make_node("Gather", ["table", "input_ids"], ["tokens"]),
            helper.make_node("ReduceMax", ["tokens"], ["embedding"], axes=[1], keepdims=0),
            helper.make_node("Gemm", ["embedding", "scores", "bias"], ["logits"]),
        ],
        "texts", [ids], [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", 3])],
        [numpy_helper.from_array(array, name) for name, array in (WEIGHTS | {"table": table}).items()],
    )  # fmt: skip
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
        tmp_path / "good" / "model.onnx",
    )
    (found,) = extract_each([f"onnx:{tmp_path}/*/model.onnx"], open_samples(texts), tmp_path / "zoo", Options(**QUICK))
    held = Predictions.load(tmp_path / "zoo" / "good.npz")
    first = table[tokenizer("good good")["input_ids"] + [0]].max(axis=0)  # filled up to the longest of the batch
    np.testing.assert_allclose(held.features[0], first, atol=1e-6)
    assert (found.samples, held.labels[:3].tolist()) == (9, [2, 0, 1])


@pytest.mark.parametrize(
    ("nodes", "options", "message"),
    [
        (GEMM, {"weights": "w.pth"}, "has its weights in itself; leave out --weights"),
        (GEMM, {"amp": True}, "has its own precision; leave out --amp"),
        (GEMM, {"head": "fc"}, "head is 'fc', which the graph has no node and no tensor of; its last nodes are /Fl"),
        ([("Gemm", ["embedding", "scores", "bias"], ["b"]), ("Sigmoid", ["b"], ["out"])], {},
         "head: before the output 'out' is no Gemm, MatMul or Conv to take for it; name it: --layer NAME"),
        ([("Identity", ["embedding"], ["e"]), ("Mul", ["e", "embedding"], ["f"]),
          ("Gemm", ["f", "scores", "bias"], ["g"]), ("Mul", ["g", "g"], ["out"])], {}, "to take for it; name it"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_told_in_one_line(images, tmp_path, nodes, options, message):
    pytest.importorskip("transformers")
    path = save(tmp_path / "m.onnx", TRUNK + nodes)
    with pytest.raises(ValueError, match=message) as raised:
        run(path, images, tmp_path / "out.npz", **options)
    assert "\n" not in str(raised.value)


def test_a_file_of_something_else_is_told_in_one_line(images, tmp_path):
    (tmp_path / "m.onnx").write_text("not a model at all")
    with pytest.raises(ValueError, match=r"m\.onnx (cannot be read as an ONNX file|has no output)"):
        run(tmp_path / "m.onnx", images, tmp_path / "out.npz")
