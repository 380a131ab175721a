"""The predictions files that a protocol is given, each in its role; too few samples are refused unless scaled.

A file is given as FILE, as NAME=FILE where its own name would not say what is in it, and as FILE:PREFIX where the
arrays' names there are preceded by a prefix.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import fspath
from pathlib import Path
from typing import NamedTuple

import numpy as np

from proxcal._arrays import FORMATS
from proxcal._files import check_readable
from proxcal._validation import Ints
from proxcal.bundle import Predictions
from proxcal.experiments._setup import check_complete
from proxcal.experiments.reproduce.protocols import Need, Protocol

FilePath = str | Path


class Split(NamedTuple):
    """`seed` is None where nothing was drawn."""

    seed: int | None
    calibration: Predictions
    test: Predictions


@dataclass(frozen=True)
class Inputs:
    """Predictions by role and by name, in which points this is not the paper's protocol, and what the files hold, by
    SHA-256."""

    by_role: Mapping[str, Mapping[str, Predictions]]
    deviations: tuple[str, ...]
    fingerprints: Mapping[str, str]

    def only(self, role: str) -> Predictions:
        (predictions,) = self.by_role[role].values()
        return predictions


def random_split(protocol: Protocol, hold_out: Predictions, seed: int) -> Split:
    calibrating, testing = drawn(protocol, len(hold_out), seed)
    return Split(seed, hold_out.take(calibrating), hold_out.take(testing))


def drawn(protocol: Protocol, n: int, seed: int) -> tuple[Ints, Ints]:
    """Calibration and test rows among n; where that is all of them, those of `Predictions.split`."""
    n_calibration, n_test = split_sizes(protocol, n)
    order = np.random.default_rng(seed).permutation(n)
    return np.sort(order[:n_calibration]), np.sort(order[n_calibration : n_calibration + n_test])


def split_sizes(protocol: Protocol, n: int) -> tuple[int, int]:
    """The paper's, or where there are fewer samples, all of them in the same proportion."""
    n_calibration, n_test = protocol.split or (0, n)
    if n >= n_calibration + n_test:
        return n_calibration, n_test
    first = round(n * n_calibration / (n_calibration + n_test))
    return first, n - first


def read_inputs(protocol: Protocol, files: Sequence[FilePath], *, scaled: bool = False) -> Inputs:
    given = _given(protocol, files)
    by_role: dict[str, dict[str, Predictions]] = {need.role: {} for need in protocol.needs}
    fingerprints, deviations = {}, []
    for need, name, path, prefix in given:
        predictions = Predictions.load(path, prefix=prefix)
        check_complete(f"{path}:{prefix}" if prefix else str(path), predictions)
        if len(predictions) < need.n_samples:
            if not scaled:
                raise ValueError(_too_few(protocol, need, path, len(predictions)))
            deviations.append(f"{name} has {len(predictions)} samples, not {need.n_samples}")
        by_role[need.role][name] = predictions
        fingerprints[f"{need.role} {name}"] = f"{_sha256(path)}{prefix and f':{prefix}'}"
    return Inputs(by_role, tuple(deviations), fingerprints)


def _given(protocol: Protocol, files: Sequence[FilePath]) -> Iterator[tuple[Need, str, Path, str]]:
    """Each file's need, name, path and prefix; the last need takes the rest where it takes several."""
    *first, last = protocol.needs
    n_least = len(protocol.needs)
    if len(files) < n_least or (len(files) > n_least and not last.several):
        wanted = " ".join(f"{need.role.upper()}{'...' if need.several else ''}" for need in protocol.needs)
        raise ValueError(
            f"{protocol.name} takes {wanted}; {len(files)} files came (proxcal reproduce --list says what each is)"
        )
    needs = [*first, *[last] * (len(files) - len(first))]
    seen: set[tuple[str, str]] = set()
    for need, file in zip(needs, files, strict=True):
        name, path, prefix = _parsed(fspath(file))
        if (need.role, name) in seen:
            raise ValueError(f"two files are named {name}; tell them apart as NAME=FILE")
        seen.add((need.role, name))
        yield need, name, path, prefix


def _parsed(text: str) -> tuple[str, Path, str]:
    """[NAME=]FILE[:PREFIX]; a file that is there under the whole text is that file."""
    name, equals, file = ("", "", text) if Path(text).exists() else text.partition("=")
    file = file if equals else text
    before, _, after = file.rpartition(":")
    prefix = after if before and Path(before).suffix.lower() in FORMATS else ""
    path = check_readable(before if prefix else file)
    stem = path.stem if not prefix else f"{path.stem}-{prefix.rstrip('_-')}"
    return (name if equals else stem), path, prefix


def _too_few(protocol: Protocol, need: Need, path: Path, n: int) -> str:
    return (
        f"{path} has {n} samples; {protocol.name} needs {need.n_samples} ({need.what}): give the whole set, or pass"
        " scaled=True (--scaled on the command line) for a smaller likeness, which is then not the paper's protocol"
    )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
