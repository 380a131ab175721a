"""Yahoo Answers Topics and MultiNLI, as their authors' files hold them."""

import csv
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from proxcal._validation import check_choice
from proxcal.datasets._layout import Published
from proxcal.datasets.samples import Samples

YAHOO = Published(
    "Yahoo Answers Topics",
    "https://github.com/zhangxiangxiao/Crepe (yahoo_answers_csv.tar.gz)",
    "train.csv and test.csv of class, question title, question content and best answer",
)
TOPICS = (
    "Society & Culture", "Science & Mathematics", "Health", "Education & Reference", "Computers & Internet", "Sports",
    "Business & Finance", "Entertainment & Music", "Family & Relationships", "Politics & Government",
)  # fmt: skip
COLUMNS = ("title", "content", "answer")
MULTINLI = Published(
    "MultiNLI",
    "https://cims.nyu.edu/~sbowman/multinli/",
    "multinli_1.0_train, _dev_matched and _dev_mismatched as .jsonl or .txt, or GLUE's .tsv files",
)
INFERENCES = ("entailment", "neutral", "contradiction")  # in the order of GLUE, and so of most models
UNDECIDED = "-"  # where the annotators had no majority
_PARTS = {"matched": "dev_matched", "mismatched": "dev_mismatched", "train": "train"}


def yahoo_answers(root: str | os.PathLike[str], part: str = "test", *, columns: Sequence[str] = COLUMNS) -> Samples:
    """`part` is test or train; the text joins these `columns` of a question, in their order."""
    path = YAHOO.file(Path(root), f"{YAHOO.part(part, ('test', 'train'))}.csv")
    places = [1 + COLUMNS.index(check_choice("columns", column, COLUMNS)) for column in columns]
    labels, texts = list[int](), list[str]()
    for number, row in enumerate(_rows(path), start=1):
        if len(row) != 1 + len(COLUMNS) or row[0] not in _NUMBERS:
            raise ValueError(
                f"{path} has {len(row)} values in row {number}, the first {row[0] if row else ''!r}; a class from 1 to"
                f" {len(TOPICS)} and three texts are needed"
            )
        labels.append(_NUMBERS[row[0]])
        texts.append(" ".join(row[place].replace("\\n", "\n").strip() for place in places if row[place]))
    return Samples("text", texts, [str(i) for i in range(len(texts))], np.array(labels, dtype=np.intp), TOPICS)


def yahoo_titles(root: str | os.PathLike[str], part: str = "test") -> Samples:
    """Of each question its title alone, which is what the paper's code asks."""
    return yahoo_answers(root, part, columns=("title",))


def multinli(root: str | os.PathLike[str], part: str = "matched") -> Samples:
    """`part` is matched or mismatched, of the development set, or train; pairs that were not decided are left out."""
    stem = _PARTS[MULTINLI.part(part, tuple(_PARTS))]
    names = (f"multinli_1.0_{stem}.jsonl", f"multinli_1.0_{stem}.txt", f"{stem}.tsv")
    path = MULTINLI.file(Path(root), *names)
    rows = _json_lines(path) if path.suffix == ".jsonl" else _tab_lines(path)
    pairs, ids, labels = list[tuple[str, str]](), list[str](), list[int]()
    for number, row in rows:
        try:
            said, pair, pair_id = row["gold_label"], (row["sentence1"], row["sentence2"]), row["pairID"]
        except KeyError as error:
            raise ValueError(f"{path} has no {error} in line {number}; is it cut short?") from None
        if said == UNDECIDED:
            continue
        labels.append(INFERENCES.index(check_choice(f"gold_label in line {number} of {path}", said, INFERENCES)))
        pairs.append(pair)
        ids.append(pair_id)
    return Samples("text", pairs, ids, np.array(labels, dtype=np.intp), INFERENCES)


_NUMBERS = {str(i): i - 1 for i in range(1, len(TOPICS) + 1)}


def _rows(path: Path) -> Iterator[list[str]]:
    with path.open(newline="", encoding="utf-8") as file:
        try:
            yield from csv.reader(file)
        except csv.Error as error:
            raise ValueError(f"{path} is no CSV file: {error}") from None


def _json_lines(path: Path) -> Iterator[tuple[int, Mapping[str, str]]]:
    with path.open(encoding="utf-8", newline="\n") as file:  # sentences hold other characters that end a line
        for number, line in enumerate(file, start=1):
            try:
                yield number, json.loads(line)
            except ValueError:
                raise ValueError(f"{path} has no JSON in line {number}; is it cut short?") from None


def _tab_lines(path: Path) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Values between tabs, quotes being quotes; what ends a line early are empty columns at its end."""
    with path.open(encoding="utf-8", newline="\n") as file:
        columns = next(file, "").rstrip("\r\n").split("\t")
        for number, line in enumerate(file, start=2):
            yield number, dict(zip(columns, line.rstrip("\r\n").split("\t"), strict=False))
