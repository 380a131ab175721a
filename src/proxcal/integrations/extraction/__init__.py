"""Models of timm, torchvision, transformers, ONNX or one's own, run over samples into predictions files."""

from proxcal.integrations.extraction.options import Extraction, Options
from proxcal.integrations.extraction.pca import number_or_file
from proxcal.integrations.extraction.run import extract_each, extract_to_file

__all__ = ["Extraction", "Options", "extract_each", "extract_to_file", "number_or_file"]
