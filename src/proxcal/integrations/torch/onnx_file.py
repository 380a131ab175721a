"""One ONNX file with everything inside: the network, the search among the references, the informed step, the rows.

torch's exporter traces the module, so there is one set of formulas; these take a fixed number of steps and name no size
of a batch. References compressed to float16 lie in the file so, and are widened as they are used.
"""

import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from proxcal._extras import require
from proxcal._files import atomic_write, check_writable
from proxcal.integrations.torch.head import Module, Tensor

torch = require("torch", "torch", "proxcal.integrations.torch")

_MOST_BYTES = 2**31 - (1 << 23)  # of a protobuf message, some left for the graph


def write_onnx(path: str | os.PathLike[str], module: Module, example: Any, *, overwrite: bool) -> None:
    """Trace `module`, which gives a `CalibratedBatch`, on an example of its input (a tensor, a tuple of them, or a
    mapping from names), and write what it does to batches of any size."""
    for needed in ("onnx", "onnxscript"):
        require(needed, "onnx", "to_onnx")
    check_writable(path, overwrite)
    _check_size(module)
    names, tensors = _named(example)
    with _evaluating(module), warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # the exporter's, of what is its own to mend
        traced = _Traced(module, names if isinstance(example, Mapping) else None)
        program = torch.onnx.export(
            traced,
            tensors,
            input_names=names,
            output_names=traced.outputs(tensors),
            dynamic_shapes=(tuple({0: torch.export.Dim("batch")} for _ in tensors),),
            dynamo=True,
            optimize=False,  # the optimizer of onnxscript 0.7 loses a constant that two clamps share
            verbose=False,
        )
    proto = program.model_proto
    for node in proto.graph.node:
        node.ClearField("metadata_props")  # the lines of code that each comes from
    with atomic_write(path, overwrite) as temporary:
        temporary.write_bytes(proto.SerializeToString())


class _Traced(torch.nn.Module):  # type: ignore[misc, name-defined]
    """The module with inputs by position and a tuple of the outputs that there are."""

    def __init__(self, module: Module, names: list[str] | None) -> None:
        super().__init__()
        self._module, self._names = module, names

    def forward(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        return tuple(value for value in self._batch(inputs) if value is not None)

    def outputs(self, inputs: tuple[Tensor, ...]) -> list[str]:
        """Their names."""
        return [name for name, value in self._batch(inputs)._asdict().items() if value is not None]

    def _batch(self, inputs: tuple[Tensor, ...]) -> Any:
        if self._names is None:
            return self._module(*inputs)
        return self._module(**dict(zip(self._names, inputs, strict=True)))


def _named(example: Any) -> tuple[list[str], tuple[Tensor, ...]]:
    """The inputs and what they are called."""
    if isinstance(example, Mapping):
        names, tensors = list(example), tuple(example.values())
    else:
        tensors = tuple(example) if isinstance(example, tuple | list) else (example,)
        names = ["input"] if len(tensors) == 1 else [f"input_{i}" for i in range(len(tensors))]
    if not tensors or not all(isinstance(tensor, torch.Tensor) and tensor.ndim for tensor in tensors):
        raise ValueError("example_input must be a tensor, a tuple of tensors or a mapping from names to tensors")
    if min(len(tensor) for tensor in tensors) < 2:
        raise ValueError("example_input has a batch of 1; two samples or more are needed: a 1 is traced as a constant")
    return names, tensors


def _check_size(module: Module) -> None:
    n_bytes = sum(tensor.numel() * tensor.element_size() for tensor in module.state_dict().values())
    if n_bytes > _MOST_BYTES:
        raise ValueError(
            f"network and references take {n_bytes / 1e9:.1f} GB; an ONNX file holds 2.1 at the most: keep fewer"
            " references (compress={'n_references': …}) or take a smaller network"
        )


@contextmanager
def _evaluating(module: Module) -> Iterator[None]:
    training = [part for part in module.modules() if part.training]
    module.eval()
    try:
        yield
    finally:
        for part in training:
            part.training = True
