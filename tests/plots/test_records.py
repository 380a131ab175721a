from dataclasses import make_dataclass
from typing import NamedTuple

import numpy as np
import pytest

from proxcal.plots._records import rows


class Named(NamedTuple):
    model: str
    accuracy: float


Classed = make_dataclass("Classed", ["model", "accuracy"])


class Frame(dict):
    columns = ("model", "accuracy")


@pytest.mark.parametrize(
    "results",
    [
        [{"model": "a", "accuracy": 0.5}, {"model": "b", "accuracy": 0.75}],
        [Named("a", 0.5), Named("b", 0.75)],
        [Classed("a", 0.5), Classed("b", 0.75)],
        {"model": ["a", "b"], "accuracy": np.array([0.5, 0.75])},
        Frame(model=["a", "b"], accuracy=[0.5, 0.75]),
        ({"model": model, "accuracy": text} for model, text in (("a", "0.5"), ("b", "7.5e-1"))),
    ],
)
def test_records_columns_frames_and_texts_are_read_alike(results):
    assert rows(results, ("model",), ("accuracy",)) == [
        {"model": "a", "accuracy": 0.5},
        {"model": "b", "accuracy": 0.75},
    ]


@pytest.mark.parametrize("unknown", [None, "", np.nan, "nan"])
def test_what_is_not_known_is_none_and_leaves_a_record_out_only_where_it_is_needed(unknown):
    results = {"model": ["a", "b"], "accuracy": [unknown, 1], "p_value": [1, unknown]}
    assert rows(results, ("model",), ("accuracy", "p_value"), ("p_value",)) == [
        {"model": "b", "accuracy": 1.0, "p_value": None}
    ]


@pytest.mark.parametrize(
    ("results", "message"),
    [
        ([{"model": "a"}], r"results has no column 'accuracy'; this picture needs model, accuracy"),
        ([], r"results has no column 'model'"),
        ([{"model": "a", "accuracy": None}], r"results has no record with model, accuracy, of 1 records"),
        ([{"model": "a", "accuracy": "good"}], r"results has 'good' as accuracy in row 0; it needs a number"),
        ([{"model": "a", "accuracy": np.inf}], r"in row 0; it needs a finite number"),
        ({"model": ["a"], "accuracy": [1, 1]}, r"results has columns of unequal length: \{'model': 1, 'accuracy': 2\}"),
        ([3], r"results has a int in row 0; a record maps names to values"),
    ],
)
def test_what_can_not_be_drawn_is_refused(results, message):
    with pytest.raises(ValueError, match=message):
        rows(results, ("model",), ("accuracy",))
