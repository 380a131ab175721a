"""What a long protocol has measured so far, kept a part at a time, so that a kill loses no part that was done.

A part (a network and seed, say) is one JSON file in FOLDER/NAME.parts, written beside and renamed. They are thrown away
once the whole result is written. Parts of other files or settings are never mixed in: they are refused.
"""

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from proxcal._files import atomic_write
from proxcal.experiments.evaluation import Method as Side

PLAN = "plan.json"


class Value(NamedTuple):
    """One metric of a method, alone or with ours, on one split; `variant` is the shift, the K or the distance.
    `p_value` is that of the pair's difference, where one split has one."""

    model: str | None
    seed: int | None
    variant: str | None
    method: str
    side: Side
    metric: str
    value: float
    p_value: float | None = None


class Parts:
    """`plan` says what they are parts of. Without a folder nothing is kept."""

    def __init__(self, folder: Path | None, plan: Mapping[str, Any], *, overwrite: bool = False) -> None:
        self.folder = folder
        if folder is None:
            return
        if overwrite:
            self.clear()
        before = json.loads((folder / PLAN).read_text(encoding="utf-8")) if (folder / PLAN).is_file() else plan
        for name in {**plan, **before}:
            if before.get(name) != plan.get(name):
                raise ValueError(
                    f"{folder} has parts of a run with another {name}: give another output folder, or pass"
                    " overwrite=True (--force on the command line) to start anew"
                )
        folder.mkdir(exist_ok=True)
        _write(folder / PLAN, plan)

    def done(self, key: str) -> list[Value] | None:
        """What was kept under this key, if it was."""
        path = self._path(key)
        if path is None or not path.is_file():
            return None
        return [Value(*row) for row in json.loads(path.read_text(encoding="utf-8"))]

    def keep(self, key: str, values: Sequence[Value]) -> Sequence[Value]:
        path = self._path(key)
        if path is not None:
            _write(path, values)
        return values

    def clear(self) -> None:
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _path(self, key: str) -> Path | None:
        return None if self.folder is None else self.folder / f"part {key.replace('/', '-')}.json"


def _write(path: Path, content: Any) -> None:
    with atomic_write(path, overwrite=True) as temporary:
        temporary.write_text(json.dumps(content), encoding="utf-8")
