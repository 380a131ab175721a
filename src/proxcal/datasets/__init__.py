"""What a model is asked: samples from one's own files, and data that comes with the package, so that the effect can be
seen before any of one's own is at hand."""

from proxcal.datasets.demo import load_demo
from proxcal.datasets.files import class_names, image_folder, open_samples, sample_list, sample_table
from proxcal.datasets.samples import Sample, Samples

__all__ = [
    "Sample",
    "Samples",
    "class_names",
    "image_folder",
    "load_demo",
    "open_samples",
    "sample_list",
    "sample_table",
]
