"""What a model is asked: samples from one's own files, and data that comes with the package, so that the effect can be
seen before any of one's own is at hand."""

from proxcal.datasets.demo import load_demo
from proxcal.datasets.files import class_names, image_folder, sample_list, sample_table, write_table
from proxcal.datasets.imagenet import imagenet, imagenet_c, imagenet_lt, imagenet_sketch
from proxcal.datasets.inaturalist import inaturalist
from proxcal.datasets.opening import DATA_SETS, open_samples
from proxcal.datasets.samples import Sample, Samples
from proxcal.datasets.text_sets import multinli, yahoo_answers, yahoo_titles

__all__ = [
    "DATA_SETS",
    "Sample",
    "Samples",
    "class_names",
    "image_folder",
    "imagenet",
    "imagenet_c",
    "imagenet_lt",
    "imagenet_sketch",
    "inaturalist",
    "load_demo",
    "multinli",
    "open_samples",
    "sample_list",
    "sample_table",
    "write_table",
    "yahoo_answers",
    "yahoo_titles",
]
