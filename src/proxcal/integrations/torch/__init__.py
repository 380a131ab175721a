"""proxcal inside PyTorch: features from a network's own forward pass. Needs the `torch` extra."""

from proxcal.integrations.torch.extraction import extract
from proxcal.integrations.torch.head import HeadInput, find_head, logits_of

__all__ = ["HeadInput", "extract", "find_head", "logits_of"]
