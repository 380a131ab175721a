"""A network that gives calibrated probabilities: the network, and behind it a fitted `ProCal`, as one module.

What goes into the network's head is kept as its forward pass goes by (`head`), so the features cost nothing, and all
that follows is computed where the network is. `extract` gives the logits and features to fit the `ProCal` on.
"""

import os
from collections.abc import Mapping
from typing import Any

from proxcal._extras import require
from proxcal.integrations.torch.calibration import CalibratedBatch, Calibration
from proxcal.integrations.torch.head import HeadInput, Module, find_head, logits_of
from proxcal.integrations.torch.onnx_file import write_onnx
from proxcal.procal import ProCal

torch = require("torch", "torch", "proxcal.integrations.torch")


class CalibratedModule(torch.nn.Module):  # type: ignore[misc, name-defined]
    """`model` with `procal` behind it: forward takes what the model takes and gives a `CalibratedBatch`.

    Parameters
    ----------
    model : a network that gives scores of the kind that `procal` was fitted on, as a rule logits.
    procal : fitted on this network's scores and features.
    head : the classifier head, or its name, where `find_head` does not find it by itself.
    compress : arguments of `ProCal.compress`, to keep the references in less memory ({} means float16).

    Its results are `procal.calibrate`'s to 1e-5, in float32. `state_dict` holds the network and all that was learned,
    references included, and loads into a module built of a `ProCal` of the same shapes. Under autocast the network runs
    in 16 bits, the calibration does not.
    """

    def __init__(
        self,
        model: Module,
        procal: ProCal,
        *,
        head: str | Module | None = None,
        compress: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self.calibration = Calibration(procal if compress is None else procal.compress(**compress))
        found = find_head(model, head)
        _check_fits(found, self.calibration)
        self.model = model
        self._head_input = HeadInput(found)
        parameter = next(model.parameters(), None)
        if parameter is not None:
            self.calibration.to(parameter.device)

    def forward(self, *inputs: Any, **named: Any) -> CalibratedBatch:
        scores = logits_of(self.model(*inputs, **named))
        features = self._head_input.take(scores)
        with torch.autocast(scores.device.type, enabled=False):
            batch: CalibratedBatch = self.calibration(scores, features)
        return batch

    def to_onnx(self, path: str | os.PathLike[str], example_input: Any = None, *, overwrite: bool = False) -> None:
        """Write network and calibration as one ONNX file that takes batches of any size and gives the fields of
        `CalibratedBatch`. `example_input` is what the network takes: a tensor, a tuple of them, or a mapping from
        names, of two samples or more; a timm model tells its own. Needs the `onnx` extra."""
        write_onnx(path, self, _example(self.model) if example_input is None else example_input, overwrite=overwrite)


def _example(model: Module) -> Any:
    size = (getattr(model, "pretrained_cfg", None) or {}).get("input_size")
    if size is None:
        raise ValueError(
            f"example_input is missing, and {type(model).__name__} does not tell what it takes; give such a batch, like"
            " torch.zeros(2, 3, 224, 224)"
        )
    parameter = next(model.parameters())
    return torch.zeros((2, *size), dtype=parameter.dtype, device=parameter.device)


def _check_fits(head: Module, calibration: Calibration) -> None:
    """By the shapes that a linear head shows; what others give is checked as it comes."""
    if not isinstance(head, torch.nn.Linear):
        return
    n_classes, n_columns = head.weight.shape
    if n_classes != calibration.n_classes:
        raise ValueError(
            f"model's head gives {n_classes} classes; procal was fitted with {calibration.n_classes}; fit it on this"
            " model's scores, or name the head: head=…"
        )
    if calibration.n_columns not in (None, n_columns):
        raise ValueError(
            f"model's head takes {n_columns} features; procal's references have {calibration.n_columns}; fit it on what"
            " `extract` gives of this model, or name the head: head=…"
        )
