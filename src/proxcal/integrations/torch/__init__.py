"""proxcal inside PyTorch: features from a network's own forward pass, and calibration behind it. Needs the `torch`
extra."""

from proxcal.integrations.torch.calibrated import CalibratedModule
from proxcal.integrations.torch.calibration import CalibratedBatch, Calibration
from proxcal.integrations.torch.extraction import extract
from proxcal.integrations.torch.head import HeadInput, find_head, logits_of

__all__ = [
    "CalibratedBatch",
    "CalibratedModule",
    "Calibration",
    "HeadInput",
    "extract",
    "find_head",
    "logits_of",
]
