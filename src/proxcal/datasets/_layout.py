"""What the loaders of public data sets have in common: to say what is missing where, and where it is obtained."""

from pathlib import Path
from typing import NamedTuple

from proxcal._validation import check_choice
from proxcal.datasets.samples import Samples


class Published(NamedTuple):
    """A data set as its authors hand it out: its name, where that is, and what must lie in its folder."""

    name: str
    where: str
    layout: str

    def lacks(self, root: Path, what: str) -> ValueError:
        return ValueError(
            f"{root} has no {what}: {self.name} needs {self.layout} there; it is obtained from {self.where}"
        )

    def part(self, part: str, parts: tuple[str, ...]) -> str:
        return check_choice(f"the part of {self.name}", part, parts)

    def file(self, root: Path, *names: str) -> Path:
        """The first of these that is there."""
        for name in names:
            if (root / name).is_file():
                return root / name
        raise self.lacks(root, " or ".join(names))

    def with_images(self, root: Path, samples: Samples) -> Samples:
        """The samples, if the first of their images is there; a list of them comes apart from the images."""
        if not Path(str(samples.contents[0])).is_file():
            raise self.lacks(root, f"{samples.names[0]}, which its list names")
        return samples
