"""Samples of one's own: a folder of images, a list of them, or a table of paths or texts.

- A folder holds one folder a class, as ImageNet's, the classes in alphabetical order; or images alone, without labels.
- A list (.txt) has a path and a label in each line, as ImageNet-LT's lists, or a path or a text alone.
- A table (.csv or .tsv) has a column `path` or `text`, and may have `text_pair`, `label` and `name`.

Paths in a list or a table start from the folder that it lies in. Labels are whole numbers, which are then the model's
own, or names of classes.
"""

import csv
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from proxcal._files import atomic_write, check_readable
from proxcal._validation import Ints
from proxcal.datasets.samples import Content, Samples

IMAGES = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".ppm", ".pgm", ".tif", ".tiff", ".gif")
TABLES = {".csv": ",", ".tsv": "\t"}
LIST = ".txt"


def image_folder(root: str | os.PathLike[str]) -> Samples:
    """The images of a folder: in a folder a class (deeper folders belong to it), or all without labels."""
    root = Path(root)
    if not root.is_dir():
        raise ValueError(f"{root} is not a folder; images are needed there, in a folder a class")
    _, folders, files = next(os.walk(root))
    classes = tuple(sorted(name for name in folders if name[0] != "."))
    if classes and any(_is_image(name) for name in files):
        raise ValueError(f"{root} has images beside folders; put each into the folder of its class")
    names = [name for folder in classes or (".",) for name in _images_below(root, folder)]
    if not names:
        raise ValueError(f"{root} has no images; it needs {', '.join(IMAGES[:3])} or the like, in a folder a class")
    place = {name: i for i, name in enumerate(classes)}
    labels = np.array([place[name.split("/", 1)[0]] for name in names], dtype=np.intp) if classes else None
    return Samples("image", [root / name for name in names], names, labels, classes or None)


def sample_list(path: str | os.PathLike[str]) -> Samples:
    """Lines of a path and its label, or of a path alone, or else of a text."""
    path = Path(path)
    lines = _lines(path)
    if not lines:
        raise ValueError(f"{path} is empty; a line a sample is needed")
    if all(_is_image(line) for line in lines):
        return Samples("image", _from(path, lines), lines)
    parts = [line.rsplit(maxsplit=1) for line in lines]
    if not _is_image(parts[0][0]):
        return Samples("text", lines, _numbers(len(lines)))
    for number, part in enumerate(parts, start=1):
        if len(part) != 2 or not _is_image(part[0]):
            raise ValueError(
                f"{path} has {' '.join(part)!r} as line {number}; an image's path and its label are needed"
            )
    names, labels = zip(*parts, strict=True)
    return Samples("image", _from(path, names), names, *_labels(labels))


def sample_table(path: str | os.PathLike[str]) -> Samples:
    """Rows of a CSV or TSV file."""
    path = Path(path)
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file, delimiter=TABLES[path.suffix.lower()]))
    columns = rows[0].keys() if rows else ()
    kinds = [name for name in ("path", "text") if name in columns]
    if len(kinds) != 1:
        found = ", ".join(map(str, columns)) or "nothing"
        raise ValueError(f"{path} has the columns {found}; exactly one of path and text is needed")
    for number, row in enumerate(rows, start=1):
        if None in row or None in row.values():
            raise ValueError(f"{path} has another number of values in row {number} than columns; is it cut short?")
    labels = _labels([row["label"] for row in rows]) if "label" in columns else (None, None)
    if kinds == ["path"]:
        paths = [row["path"] for row in rows]
        return Samples("image", _from(path, paths), _names(rows, paths), *labels)
    return Samples("text", [_text(row) for row in rows], _names(rows, _numbers(len(rows))), *labels)


def write_table(samples: Samples, path: str | os.PathLike[str], overwrite: bool = False) -> None:
    """The samples as a .csv that `sample_table` reads, classes by their names; images by their whole paths."""
    pairs = isinstance(samples.contents[0], tuple)
    contents = ("path",) if samples.kind == "image" else ("text", "text_pair") if pairs else ("text",)
    with atomic_write(path, overwrite) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*contents, *(["label"] if samples.labels is not None else []), "name"])
        for name, content, label in samples:
            cells = content if isinstance(content, tuple) else (_cell(content),)
            writer.writerow([*cells, *([] if label is None else [_called(samples, label)]), name])


def class_names(path: str | os.PathLike[str]) -> list[str]:
    """The names of a model's classes, one a line, in the model's order."""
    return _lines(check_readable(path))


def _lines(path: Path) -> list[str]:
    lines = (line.strip() for line in path.read_text(encoding="utf-8-sig").splitlines())
    return [line for line in lines if line]


def _images_below(root: Path, folder: str) -> Iterator[str]:
    """Their paths from `root`, with slashes, in alphabetical order."""
    for place, folders, files in os.walk(root / folder):
        folders.sort()
        for name in sorted(files):
            if _is_image(name) and name[0] != ".":
                yield (Path(place) / name).relative_to(root).as_posix()


def _is_image(name: str) -> bool:
    return name.lower().endswith(IMAGES)


def _from(path: Path, names: Sequence[str]) -> list[Content]:
    return [path.parent / name for name in names]


def _text(row: Mapping[str, str]) -> Content:
    return (row["text"], row["text_pair"]) if "text_pair" in row else row["text"]


def _cell(content: Content) -> str:
    return str(content.resolve()) if isinstance(content, Path) else str(content)


def _called(samples: Samples, label: int) -> str:
    return str(label) if samples.classes is None else samples.classes[label]


def _names(rows: Sequence[Mapping[str, str]], otherwise: Sequence[str]) -> Sequence[str]:
    return [row["name"] for row in rows] if "name" in rows[0] else otherwise


def _numbers(n: int) -> list[str]:
    return [str(i) for i in range(n)]


def _labels(texts: Sequence[str]) -> tuple[Ints, tuple[str, ...] | None]:
    """Whole numbers as they are; else places among the names, in alphabetical order."""
    if all(text.strip().lstrip("-").isdecimal() for text in texts):
        return np.array([int(text) for text in texts], dtype=np.intp), None
    classes, labels = np.unique(np.asarray(texts), return_inverse=True)
    return labels.astype(np.intp), tuple(str(name) for name in classes)
