"""What --data names: samples of one's own, or a public data set as NAME:FOLDER or NAME/PART:FOLDER.

`imagenet:/data/imagenet` is ImageNet's validation set, `imagenet-c/gaussian_noise/3:/data/imagenet-c` one corruption at
one severity, `multinli/mismatched:/data/multinli` the texts of other genres than those trained on.
"""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from proxcal._files import check_readable
from proxcal.datasets.files import LIST, TABLES, image_folder, sample_list, sample_table
from proxcal.datasets.imagenet import imagenet, imagenet_c, imagenet_lt, imagenet_sketch
from proxcal.datasets.inaturalist import inaturalist
from proxcal.datasets.samples import Samples
from proxcal.datasets.text_sets import multinli, yahoo_answers, yahoo_titles

Loader = Callable[[str, str], Samples]
DATA_SETS: Mapping[str, tuple[Loader, str]] = {  # and the part that is meant where none is named
    "imagenet": (imagenet, "val"),
    "imagenet-lt": (imagenet_lt, "test"),
    "imagenet-c": (imagenet_c, ""),
    "imagenet-sketch": (imagenet_sketch, "sketch"),
    "inaturalist": (inaturalist, "val"),
    "yahoo": (yahoo_answers, "test"),
    "yahoo-titles": (yahoo_titles, "test"),
    "multinli": (multinli, "matched"),
}


def open_samples(data: str | os.PathLike[str]) -> Samples:
    """A data set by its name; or else a folder, a list or a table, told apart by what the path is."""
    named, colon, folder = os.fspath(data).partition(":")
    name, _, part = named.partition("/")
    if colon and name in DATA_SETS:
        load, usual = DATA_SETS[name]
        return load(folder, part or usual)
    path = Path(data)
    if path.is_dir():
        return image_folder(path)
    if colon and not path.exists():
        raise ValueError(f"{data} is neither a file nor a data set; before the colon is one of {', '.join(DATA_SETS)}")
    suffix = check_readable(path).suffix.lower()
    if suffix in TABLES:
        return sample_table(path)
    if suffix == LIST:
        return sample_list(path)
    raise ValueError(
        f"{path} has the suffix {path.suffix!r}; data is a folder of images, a .txt, .csv or .tsv file, or a data set"
        " by name (NAME:FOLDER)"
    )
