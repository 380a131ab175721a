"""One file for a fitted estimator: safetensors for its arrays, a JSON header for the rest. Never a pickle.

The header holds a schema version, so that a file of a later proxcal is refused and not misread, and a SHA-256 of
everything, so that a damaged file is refused too. Large arrays (references) are mapped, written and hashed a block at a
time, and never in memory whole. Estimators are written as class name, constructor arguments and
`state_arrays()`; reading builds only classes it was given, so a file cannot name code to run.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from proxcal._estimator import Estimator
from proxcal._files import atomic_write, check_readable
from proxcal._mapped import is_large
from proxcal._safetensors import SafetensorsFile, as_bytes, little_endian, write_safetensors
from proxcal._validation import Array

SCHEMA = 1
_KEY = "proxcal"  # of the header's entry in the safetensors metadata
_SUPPORTED = (bool, int, float, str)
TAKEN_BY = {  # who takes each kind of file; by name, because whoever reads one kind need not import the others
    "ProCal": "ProCal.load or a command's MODEL",
    "Monitor": "Monitor.load or proxcal monitor --state",
}


def write(path: str | os.PathLike[str], estimator: Estimator, *, overwrite: bool = False) -> None:
    arrays: dict[str, Array] = {}
    tree = _encode(estimator, "", arrays)
    header = {"schema": SCHEMA, "sha256": _digest(SCHEMA, tree, arrays), "estimator": tree}
    with atomic_write(path, overwrite) as temporary:
        write_safetensors(temporary, arrays, {_KEY: json.dumps(header)})


def read(
    path: str | os.PathLike[str], classes: Mapping[str, type[Estimator]], wanted: type[Estimator] = Estimator
) -> Any:
    """The estimator that was written, which must be a `wanted`; it and its parts are of `classes`."""
    path = check_readable(path)
    with _damage(path):
        file = SafetensorsFile(path)
        text = file.metadata.get(_KEY, "null")
        header = json.loads(text)
    _check_schema(path, header)
    with _damage(path):
        arrays = {name: _held(file.read(name)) for name in file.names}
    digest = _digest(header["schema"], header["estimator"], arrays)
    if digest != header.get("sha256") or json.dumps(header) != text:  # the text too: 0.1 may be written in many ways
        raise ValueError(f"{path} is damaged: its content does not match its checksum; save it again")
    _check_kind(path, header["estimator"]["class"], classes, wanted)
    return _decode(path, header["estimator"], arrays, classes)


@contextmanager
def _damage(path: Path) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        reason = error.__cause__ or error
        raise ValueError(f"{path} is not a calibrator saved by proxcal, or is damaged ({reason})") from None


def _held(array: Array) -> Array:
    """In memory, unless it is large."""
    return array if is_large(array) else np.array(array)


def _check_schema(path: Path, header: Any) -> None:
    schema = header.get("schema") if isinstance(header, dict) else None
    if type(schema) is int and schema > SCHEMA:
        raise ValueError(f"{path} has schema {schema}; this version of proxcal reads up to {SCHEMA}: upgrade proxcal")
    if type(schema) is not int or schema < 1 or not _is_estimator(header.get("estimator")):
        raise ValueError(f"{path} is not a calibrator saved by proxcal: it lacks the header")


def _check_kind(path: Path, held: str, classes: Mapping[str, type[Estimator]], wanted: type[Estimator]) -> None:
    """That what the file holds is wanted, if this version knows it at all."""
    known = held in classes or held in TAKEN_BY
    if not known or issubclass(classes.get(held, object), wanted):
        return
    needed = wanted.__name__
    message = f"{path} holds a {held}, not a {needed}: give the file of a {needed}"
    raise ValueError(f"{message}; a {held} is for {TAKEN_BY[held]}" if held in TAKEN_BY else message)


def _is_estimator(tree: Any) -> bool:
    return isinstance(tree, dict) and "class" in tree


def _digest(schema: int, tree: Any, arrays: Mapping[str, Array]) -> str:
    digest = hashlib.sha256(json.dumps([schema, tree], sort_keys=True).encode())
    for name in sorted(arrays):
        digest.update(f"{name} {little_endian(arrays[name].dtype).str} {arrays[name].shape}".encode())
        for some in as_bytes(arrays[name]):
            digest.update(some)
    return digest.hexdigest()


def _encode(value: Any, name: str, arrays: dict[str, Array]) -> Any:
    """The value as JSON, its arrays put into `arrays` under their dotted names."""
    if isinstance(value, Estimator):
        return {
            "class": type(value).__name__,
            "params": _encode(value.get_params(deep=False), f"{name}params.", arrays),
            "state": _encode(value.state_arrays(), name, arrays),
        }
    if isinstance(value, np.ndarray):
        arrays[name.rstrip(".")] = value
        return {"array": name.rstrip(".")}
    if isinstance(value, dict):
        return {"dict": {key: _encode(item, f"{name}{key}.", arrays) for key, item in value.items()}}
    if isinstance(value, list | tuple):
        return {"list": [_encode(item, f"{name}{i}.", arrays) for i, item in enumerate(value)]}
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, _SUPPORTED):
        return value
    raise ValueError(
        f"{name.rstrip('.') or 'the estimator'} is a {type(value).__name__}, which proxcal cannot save; "
        "save it by its own library's means, or use one of proxcal's own calibrators"
    )


def _decode(path: Path, tree: Any, arrays: Mapping[str, Array], classes: Mapping[str, type[Estimator]]) -> Any:
    if not isinstance(tree, dict):
        return tree
    if "array" in tree:
        return arrays[tree["array"]]
    if "dict" in tree:
        return {key: _decode(path, item, arrays, classes) for key, item in tree["dict"].items()}
    if "list" in tree:
        return [_decode(path, item, arrays, classes) for item in tree["list"]]
    if tree["class"] not in classes:
        raise ValueError(
            f"{path} holds a {tree['class']}, which this version of proxcal does not know: upgrade proxcal"
        )
    params, state = (_decode(path, tree[part], arrays, classes) for part in ("params", "state"))
    return classes[tree["class"]].from_state(params, state)
