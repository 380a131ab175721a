"""iNaturalist 2021: photographs of 10 000 species, told by one JSON file a part, as COCO's."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from proxcal.datasets._layout import Published
from proxcal.datasets.samples import Samples

INATURALIST = Published(
    "iNaturalist 2021",
    "https://github.com/visipedia/inat_comp/tree/master/2021",
    "val.json and the images' folder val/ (train, train_mini likewise)",
)
_TABLES = ("images", "annotations", "categories")


def inaturalist(root: str | os.PathLike[str], part: str = "val") -> Samples:
    """`part` is val, which the paper splits in two, train or train_mini; classes are the species in the order of their
    numbers."""
    root = Path(root)
    path = INATURALIST.file(root, f"{INATURALIST.part(part, ('val', 'train', 'train_mini'))}.json")
    held = _read(path)
    species = sorted(held["categories"], key=lambda each: int(each["id"]))
    place = {each["id"]: i for i, each in enumerate(species)}
    category = {each["image_id"]: each["category_id"] for each in held["annotations"]}
    names = [str(each["file_name"]) for each in held["images"]]
    try:
        labels = np.array([place[category[each["id"]]] for each in held["images"]], dtype=np.intp)
    except KeyError as error:
        raise ValueError(f"{path} names the image or the category {error} and says nothing of it") from None
    classes = tuple(str(each["name"]) for each in species)
    return INATURALIST.with_images(root, Samples("image", [root / name for name in names], names, labels, classes))


def _read(path: Path) -> Mapping[str, list[dict[str, Any]]]:
    with path.open(encoding="utf-8") as file:
        try:
            held = json.load(file)
        except ValueError as error:
            raise ValueError(f"{path} is no JSON ({error}); is it cut short?") from None
    absent = [name for name in _TABLES if not (isinstance(held, dict) and held.get(name))]
    if absent:
        raise ValueError(f"{path} has no {absent[0]}; {', '.join(_TABLES)} are needed")
    found: Mapping[str, list[dict[str, Any]]] = held
    return found
