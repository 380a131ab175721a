"""ImageNet and the sets made of it: labels are places among the 1000 synsets in alphabetical order, as models have
them.

A folder that has more or fewer than the 1000 would number the classes otherwise, so it is refused.
"""

import os
import re
from pathlib import Path

from proxcal.datasets._layout import Published
from proxcal.datasets.files import image_folder, sample_list
from proxcal.datasets.samples import Samples

N_CLASSES = 1000
_SYNSET = re.compile(r"n\d{8}")
IMAGENET = Published(
    "ImageNet",
    "https://image-net.org/download.php (ILSVRC2012, after registration)",
    "val/n01440764/….JPEG, a folder a synset (train/ likewise)",
)
IMAGENET_LT = Published(
    "ImageNet-LT",
    "https://liuziwei7.github.io/projects/LongTail.html (the lists), its images are ImageNet's",
    "ImageNet_LT_train.txt, _val.txt and _test.txt beside ImageNet's train/ and val/",
)
IMAGENET_C = Published(
    "ImageNet-C", "https://zenodo.org/records/2235448", "gaussian_noise/3/n01440764/….JPEG, corruption/severity/synset"
)
IMAGENET_SKETCH = Published(
    "ImageNet-Sketch", "https://github.com/HaohanWang/ImageNet-Sketch", "sketch/n01440764/….JPEG, a folder a synset"
)


def imagenet(root: str | os.PathLike[str], part: str = "val") -> Samples:
    """`part` is val, which the paper splits in two, or train."""
    return _of_synsets(IMAGENET, Path(root), IMAGENET.part(part, ("val", "train")))


def imagenet_lt(root: str | os.PathLike[str], part: str = "test") -> Samples:
    """`part` is test, val or train; the lists' own numbers are ImageNet's order."""
    root = Path(root)
    path = IMAGENET_LT.file(root, f"ImageNet_LT_{IMAGENET_LT.part(part, ('test', 'val', 'train'))}.txt")
    samples = sample_list(path)
    if samples.labels is None or not (0 <= samples.labels.min() <= samples.labels.max() < N_CLASSES):
        raise ValueError(f"{path} needs an image and a number from 0 to {N_CLASSES - 1} in each line")
    return IMAGENET_LT.with_images(root, samples)


def imagenet_c(root: str | os.PathLike[str], part: str) -> Samples:
    """`part` is corruption/severity, such as gaussian_noise/3."""
    root = Path(root)
    there = sorted(path.relative_to(root).as_posix() for path in root.glob("*/[1-5]") if path.is_dir())
    if not there:
        raise IMAGENET_C.lacks(root, "folder corruption/severity")
    if part not in there:
        raise ValueError(
            f"the part of ImageNet-C must be a corruption and a severity, such as {there[0]}; got {part!r}, and"
            f" {root} has {', '.join(dict.fromkeys(name.partition('/')[0] for name in there))}"
        )
    return _of_synsets(IMAGENET_C, root, part)


def imagenet_sketch(root: str | os.PathLike[str], part: str = "sketch") -> Samples:
    return _of_synsets(IMAGENET_SKETCH, Path(root), IMAGENET_SKETCH.part(part, ("sketch",)))


def _of_synsets(published: Published, root: Path, part: str) -> Samples:
    folder = root / part
    if not folder.is_dir():
        raise published.lacks(root, f"folder {part}")
    samples = image_folder(folder)
    if samples.classes is None:
        raise ValueError(f"{folder} has images without folders; {published.name} needs {published.layout}")
    strange = [name for name in samples.classes if not _SYNSET.fullmatch(name)]
    if strange or len(samples.classes) != N_CLASSES:
        among = f", {strange[0]!r} among them" if strange else ""
        raise ValueError(
            f"{folder} has {len(samples.classes)} folders{among};"
            f" {published.name} has {N_CLASSES}, one for each synset (another choice of classes: give {folder} alone)"
        )
    return samples
