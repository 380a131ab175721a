"""What a model is asked: images or texts in order, the name and, where it is known, the label of each.

Every loader of a data set gives this, and `proxcal extract` runs a model over it. Labels are places among the data's
own classes; a model may have its classes in another order, or more of them: `in_order_of` says where each label is
among the model's.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple, Self

import numpy as np

from proxcal._validation import Ints, check_choice, check_length

Kind = Literal["image", "text"]
Text = str | tuple[str, str]  # a pair where the model is asked about two texts, as in inference
Content = Path | Text
KINDS: tuple[Kind, ...] = ("image", "text")


class Sample(NamedTuple):
    name: str
    content: Content
    label: int | None


@dataclass(frozen=True, eq=False)
class Samples(Sequence[Sample]):
    """`contents` are paths of images, or texts; `names` tell samples apart to a reader; `classes` names the labels."""

    kind: Kind
    contents: Sequence[Content]
    names: Sequence[str]
    labels: Ints | None = None
    classes: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, KINDS)
        if not len(self.contents):
            raise ValueError("contents has no samples; at least one is needed")
        check_length("names", len(self.names), len(self.contents))
        if self.labels is not None:
            check_length("labels", len(self.labels), len(self.contents))

    def __len__(self) -> int:
        return len(self.contents)

    def __getitem__(self, i: int) -> Sample:  # type: ignore[override]  # slices: `take`
        return Sample(self.names[i], self.contents[i], None if self.labels is None else int(self.labels[i]))

    def take(self, indices: Sequence[int] | Ints) -> Self:
        """The samples at these places, in that order."""
        return replace(
            self,
            contents=[self.contents[i] for i in indices],
            names=[self.names[i] for i in indices],
            labels=None if self.labels is None else self.labels[np.asarray(indices, dtype=np.intp)],
        )

    def in_order_of(self, classes: Sequence[str]) -> Self:
        """Labels as places among `classes`, which names at least all of this data's."""
        if self.classes is None or self.labels is None:
            raise ValueError("classes cannot be put in another order: the data has no labels, or no names for them")
        place = {name: i for i, name in enumerate(classes)}
        absent = [name for name in self.classes if name not in place]
        if absent:
            raise ValueError(
                f"classes has no {absent[0]!r}, as {len(absent)} of the data's {len(self.classes)} classes; it needs"
                " the name of each"
            )
        places = np.array([place[name] for name in self.classes], dtype=np.intp)
        return replace(self, labels=places[self.labels], classes=tuple(classes))
