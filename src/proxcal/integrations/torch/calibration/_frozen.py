"""What was learned, as buffers of a module: they go with it to a device and into its state_dict, and keep their type.

`module.half()` or `.to(torch.bfloat16)` is meant for the network's weights; a confidence of 1 − 10⁻⁹ and the knots
around it need float64.
"""

from typing import Any

import numpy as np

from proxcal._extras import require
from proxcal._validation import Array

torch = require("torch", "torch", "proxcal.integrations.torch")
Tensor = Any


class Frozen(torch.nn.Module):  # type: ignore[misc, name-defined]
    """A module whose buffers are copies of arrays that `fit` learned, float64 and int64 unless told otherwise."""

    def _hold(self, **arrays: Array | float) -> None:
        for name, array in arrays.items():
            whole = np.asarray(array).dtype.kind in "iu"
            self._hold_as(np.int64 if whole else np.float64, **{name: array})

    def _hold_as(self, dtype: Any, **arrays: Array | float) -> None:
        for name, array in arrays.items():
            native = np.array(array, dtype=dtype, order="C")
            self.register_buffer(name, torch.from_numpy(native))

    def _fix(self, **numbers: Array | float) -> None:
        """Hold numbers of the method itself, which need no saving. Bare numbers would go into ONNX as float32."""
        for name, number in numbers.items():
            self.register_buffer(name, torch.from_numpy(np.array(number)), persistent=False)

    def _apply(self, fn: Any, recurse: bool = True) -> Any:
        def keeping_type(tensor: Tensor) -> Tensor:
            changed = fn(tensor)
            return changed if changed.dtype == tensor.dtype else tensor.to(changed.device)

        return super()._apply(keeping_type, recurse)
