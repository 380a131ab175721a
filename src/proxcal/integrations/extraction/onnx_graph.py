"""Where the logits and the penultimate features of an ONNX graph are.

From the graph's output one goes back over nodes that add a constant or change the shape. A Softmax on the way is left
behind: what it is given are the logits. The first Gemm, MatMul or Conv met is the classifier head, and what it is given
are the features. Both become outputs of the graph; its weights are not touched, nor even read.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from proxcal._extras import require

HEADS = ("Gemm", "MatMul", "Conv")
PROBABILITIES = ("Softmax", "LogSoftmax")
PASSED = (
    "Add", "Sub", "Mul", "Div", "Cast", "Identity", "Dropout", "Flatten", "Reshape", "Squeeze", "Unsqueeze",
    "Transpose", "Gather", "Slice", "QuantizeLinear", "DequantizeLinear", "Relu", "GlobalAveragePool", "ReduceMean",
    *PROBABILITIES,
)  # fmt: skip
NAME_IT = "--layer NAME, a node of the graph or a tensor"
Nodes = Mapping[str, Any]


class Head(NamedTuple):
    """Names of tensors. `is_map` where features are given at each place of an image, and the scores averaged later."""

    logits: str
    features: str
    is_map: bool = False


def read(path: Path) -> Any:
    """The model, weights that lie in files of their own left there."""
    onnx = require("onnx", "onnx", "onnx:FILE")
    try:
        model = onnx.load(path, load_external_data=False)
    except Exception as error:  # protobuf has errors of its own
        raise ValueError(f"{path} cannot be read as an ONNX file ({' '.join(str(error).split())[:100]})") from None
    if not model.graph.output:
        raise ValueError(f"{path} has no output, so it is no model of ONNX")
    return model


def with_features(path: Path, layer: str | None) -> tuple[bytes, Head]:
    """The model with logits and features among its outputs, as onnxruntime takes it."""
    onnx = require("onnx", "onnx", "onnx:FILE")
    model = read(path)
    head = find_head(model.graph, layer)
    there = {output.name for output in model.graph.output}
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in head[:2] if name not in there)
    return model.SerializeToString(), head


def find_head(graph: Any, layer: str | None = None) -> Head:
    """`layer` names the head, or the tensor of the features itself, where the head is not found by itself."""
    made_by = {output: node for node in graph.node for output in node.output}
    constant = _constants(graph)
    logits, tensor = _logits(graph, made_by, constant)
    if layer is not None:
        return _named(graph, layer, logits, constant)
    while tensor is not None:
        node = made_by.get(tensor)
        if node is not None and node.op_type in HEADS:
            return _taken_by(node, logits, constant)
        tensor = _back(node, constant)
    raise ValueError(
        f"head: before the output {logits!r} is no Gemm, MatMul or Conv to take for it; name it: {NAME_IT}"
    )


def external_files(graph: Any, folder: Path) -> list[Path]:
    """The files that hold the weights, where the model does not."""
    names = {entry.value for weight in graph.initializer for entry in weight.external_data if entry.key == "location"}
    return [folder / name for name in sorted(names)]


def _logits(graph: Any, made_by: Nodes, constant: set[str]) -> tuple[str, str | None]:
    """The output `logits`, or else the first, before any Softmax; and where to look for the head from."""
    names = [output.name for output in graph.output]
    logits = "logits" if "logits" in names else names[0]
    tensor: str | None = logits
    while tensor is not None:
        node = made_by.get(tensor)
        if node is not None and node.op_type in PROBABILITIES:
            return node.input[0], node.input[0]
        tensor = _back(node, constant)
    return logits, logits


def _back(node: Any, constant: set[str]) -> str | None:
    """What the node changes, if that is one tensor and the node one of those that are passed."""
    if node is None or node.op_type not in PASSED:
        return None
    varying = [name for name in node.input if name and name not in constant]
    return varying[0] if len(varying) == 1 or (varying and node.op_type in ("Reshape", "Slice")) else None


def _taken_by(node: Any, logits: str, constant: set[str]) -> Head:
    varying = [name for name in node.input if name and name not in constant]
    if len(varying) != 1:
        raise ValueError(f"head: {node.op_type} {node.name!r} is given {len(varying)} tensors; name another: {NAME_IT}")
    return Head(logits, varying[0], is_map=node.op_type == "Conv")


def _named(graph: Any, layer: str, logits: str, constant: set[str]) -> Head:
    for node in graph.node:
        if node.name == layer:
            return _taken_by(node, logits, constant)
        if layer in node.output:
            return Head(logits, layer)
    last = ", ".join(node.name or node.output[0] for node in graph.node[-5:])
    raise ValueError(f"head is {layer!r}, which the graph has no node and no tensor of; its last nodes are {last}")


def _constants(graph: Any) -> set[str]:
    """Tensors that do not depend on what the model is asked: nodes stand in order, so one pass finds all."""
    constant = {weight.name for weight in graph.initializer}
    for node in graph.node:
        if all(name in constant for name in node.input if name) and not node.op_type.startswith("Random"):
            constant.update(node.output)
    return constant
