"""The door: everything a user passes is checked here once, and trusted from here on.

A message names the argument, what came, what is needed and, where it can be known, what to do about it. Arrays of n × C
or n × d are walked in blocks of rows, so that checking never costs a second copy of them.
"""

from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proxcal._mapped import Spool, is_large, release

Array = NDArray[Any]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.intp]
Input = Literal["logits", "probs"]
T = TypeVar("T")

INPUTS: tuple[Input, ...] = ("logits", "probs")
ROW_SUM_TOLERANCE = 1e-2  # a float16 row of 1000 probabilities sums to 1 ± 0.005
_ROUNDING = 1e-5  # a float32 softmax may sum to a little more than 1
_BLOCK_BYTES = 4 << 20
_LARGE_BLOCK_BYTES = 128 << 20


class ProxcalWarning(UserWarning):
    """Something degraded (too few samples, a group without overlap): the result stands, and says so."""


def row_blocks(n_rows: int, n_columns: int, n_bytes: int = _BLOCK_BYTES) -> Iterator[slice]:
    """Slices that cover the rows, each about `n_bytes` of float64: what bounds the temporaries of every pass."""
    return _slices(n_rows, _rows_in(n_bytes, n_columns))


def large_blocks(array: Array, n_beside: int = 0) -> Iterator[slice]:
    """Slices of many row blocks of an array each, so that what is computed in row blocks comes out the same to the bit
    from any of them; sized for rows with so many numbers beside the array's own."""
    n_columns = array[:1].size
    step = _rows_in(_BLOCK_BYTES, n_columns)
    return _slices(len(array), step * max(1, _rows_in(_LARGE_BLOCK_BYTES, n_columns + n_beside) // step))


def _rows_in(n_bytes: int, n_columns: int) -> int:
    return max(1, n_bytes // (8 * max(1, n_columns)))


def _slices(n_rows: int, step: int) -> Iterator[slice]:
    return (slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step))


def blocks_of(array: Array, n_bytes: int = _BLOCK_BYTES) -> Iterator[slice]:
    """The same of an array's rows; of one that is mapped, the pages behind are let go."""
    for block in row_blocks(len(array), array[:1].size, n_bytes):
        yield block
        release(array)


def take_rows(array: Array, rows: Ints) -> Array:
    """Chosen rows; many of a mapped array go to a temporary file."""
    if not is_large(array, len(rows) * array[:1].nbytes):
        return array[rows]
    with Spool() as spool:
        for block in row_blocks(len(rows), array[:1].size):
            spool.append(array[rows[block]])
            release(array)
        return spool.mapped()


def joined_rows(first: Array, second: Array) -> Array:
    """The rows of both; if either is large, in a temporary file."""
    if not (is_large(first) or is_large(second)):
        return np.concatenate([first, second])
    dtype = np.result_type(first, second)
    with Spool() as spool:
        for array in (first, second):
            for block in blocks_of(array):
                spool.append(array[block].astype(dtype, copy=False))
        return spool.mapped()


def check_choice(name: str, value: Any, choices: tuple[T, ...]) -> T:
    for choice in choices:
        if value == choice:
            return choice
    raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}")


def check_integer(name: str, value: Any, *, at_least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or value < at_least:
        raise ValueError(f"{name} must be a whole number of at least {at_least}; got {value!r}")
    return int(value)


def check_number(
    name: str, value: Any, *, above: float = -np.inf, at_least: float = -np.inf, at_most: float = np.inf
) -> float:
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else np.nan
    if not (above < number and at_least <= number <= at_most):
        lower = f"[{at_least:g}" if at_least > above else f"({above:g}"
        raise ValueError(f"{name} must be a number in {lower}, {at_most:g}]; got {value!r}")
    return number


def check_scores(scores: ArrayLike, input: Input, *, n_classes: int | None = None, name: str | None = None) -> Array:
    """An (n, C) array of logits or of probability rows, in its own float type, and provably not the other kind."""
    check_choice("input", input, INPUTS)
    name = name or input
    array = _check_matrix(name, scores)
    n, n_columns = array.shape
    if n_columns < 2:
        raise ValueError(f"{name} has {n_columns} column; it needs one for each class, two at the least")
    if n_classes is not None and n_columns != n_classes:
        raise ValueError(f"{name} has {n_columns} columns; the calibrator was fitted with {n_classes} classes")
    rows_are_probs = True
    for block in blocks_of(array):
        rows = array[block].astype(np.float64)
        with np.errstate(over="ignore"):  # classes masked by the smallest float
            sums = rows.sum(axis=1)
        outside = (rows.min(axis=1) < 0) | (rows.max(axis=1) > 1 + ROW_SUM_TOLERANCE)
        if input == "probs":
            _refuse_rows(name, outside, block, 'has values outside [0, 1]; are these logits (input="logits")?')
            _refuse_rows(name, np.abs(sums - 1) > ROW_SUM_TOLERANCE, block, "has rows that do not sum to 1")
        rows_are_probs &= not np.any(outside | (np.abs(sums - 1) > 1e-3))
    if input == "logits" and n > 1 and rows_are_probs:
        raise ValueError(
            f'{name} has only rows that lie in [0, 1] and sum to 1: these are probabilities, not logits (input="probs")'
        )
    return array


def _refuse_rows(name: str, bad: Bools, block: slice, what: str) -> None:
    if bad.any():
        raise ValueError(f"{name} {what} (first in row {block.start + int(np.argmax(bad))})")


def check_labels(labels: ArrayLike, n_samples: int, n_classes: int, *, name: str = "labels") -> Ints:
    array = np.asarray(labels)
    if array.ndim != 1:
        raise ValueError(f"{name} has shape {array.shape}; it needs one class index a sample, shape ({n_samples},)")
    check_length(name, len(array), n_samples)
    whole = array.dtype.kind in "iu"
    if array.dtype.kind == "f":
        _refuse_non_finite(name, array)
        whole = bool(np.all(array == np.round(array)))
    if not whole:
        raise ValueError(f"{name} has dtype {array.dtype}; it needs whole numbers from 0 to {n_classes - 1}")
    outside = (array < 0) | (array >= n_classes)
    if outside.any():
        first = int(np.argmax(outside))
        unknown = " (a sample of no known class cannot be judged: leave it out)" if name == "labels" else ""
        raise ValueError(
            f"{name} has {array[first]:g} in row {first}; with {n_classes} classes it needs 0 to {n_classes - 1}"
            f"{unknown}"
        )
    return array.astype(np.intp)


def check_features(
    features: ArrayLike | None, *, n_samples: int | None = None, n_columns: int | None = None, name: str = "features"
) -> Array:
    """An (n, d) array of finite numbers, in its own float type."""
    if features is None:
        raise ValueError(f"{name} is missing: proximity needs the embedding of each sample, shape (n, d)")
    array = _check_matrix(name, features)
    if n_samples is not None:
        check_length(name, len(array), n_samples)
    if n_columns is not None and array.shape[1] != n_columns:
        raise ValueError(
            f"{name} has {array.shape[1]} columns; the reference set has {n_columns} (was another layer extracted?)"
        )
    return array


def check_ids(ids: ArrayLike, n_samples: int) -> Array:
    """A whole number or a text a sample."""
    array = np.asanyarray(ids)
    if array.ndim != 1 or array.dtype.kind not in "iuUS":
        raise ValueError(
            f"ids has shape {array.shape} and dtype {array.dtype}; it needs a whole number or a text a sample, "
            f"({n_samples},)"
        )
    check_length("ids", len(array), n_samples)
    return array


def check_samples(*, at_least: int = 1, **vectors: ArrayLike) -> tuple[Any, ...]:
    """The (n,) vectors of one set of samples, as float64 (`correct` as bool), all of one length and in their range."""
    checked = {name: _check_vector(name, values) for name, values in vectors.items()}
    first = next(iter(checked))
    n = len(checked[first])
    if n < at_least:
        raise ValueError(f"{first} has {n} samples; at least {at_least} needed")
    for name, values in checked.items():
        if len(values) != n:
            raise ValueError(f"{name} has {len(values)} samples; {first} has {n}")
    return tuple(checked.values())


def check_length(name: str, n: int, expected: int) -> None:
    if n != expected:
        raise ValueError(f"{name} has {n} samples; the other arguments have {expected}")


def _check_vector(name: str, values: ArrayLike) -> Array:
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{name} has shape {array.shape}; it needs one value a sample, shape (n,)")
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name} has dtype {array.dtype}; it needs numbers")
    if array.dtype.kind == "f":
        _refuse_non_finite(name, array)
    if name == "correct":
        if array.dtype.kind != "b" and not np.isin(array, (0, 1)).all():
            raise ValueError("correct has values other than 0 and 1; it says whether each prediction was right")
        return array.astype(np.bool_)
    if name == "confidence" and len(array):
        lowest, highest = array.min(), array.max()
        if lowest < -_ROUNDING or highest > 1 + _ROUNDING:
            raise ValueError(f"confidence lies in [{lowest:.6g}, {highest:.6g}]; it needs probabilities in [0, 1]")
        if lowest < 0 or highest > 1:
            array = np.clip(array.astype(np.float64), 0, 1)
    return array.astype(np.float64)


def _check_matrix(name: str, values: ArrayLike) -> Array:
    array = np.asanyarray(values)
    if array.ndim != 2:
        raise ValueError(f"{name} has shape {array.shape}; it needs two dimensions: a row a sample")
    if not len(array):
        raise ValueError(f"{name} has no rows; at least one sample is needed")
    if not array.shape[1]:
        raise ValueError(f"{name} has no columns")
    if array.dtype.kind in "iub":
        array = array.astype(np.float64)
    if array.dtype.kind != "f":
        raise ValueError(f"{name} has dtype {array.dtype}; it needs numbers")
    _refuse_non_finite(name, array)
    return array


def _refuse_non_finite(name: str, array: Array) -> None:
    n_bad, first = 0, -1
    for block in blocks_of(array):
        bad = ~np.isfinite(array[block]).reshape(len(array[block]), -1)
        if bad.any():
            if first < 0:
                first = block.start + int(np.argmax(bad.any(axis=1)))
            n_bad += int(bad.sum())
    if n_bad:
        raise ValueError(f"{name} has {n_bad} values that are not finite (NaN or infinity), the first in row {first}")
