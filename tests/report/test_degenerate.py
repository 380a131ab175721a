"""Sets from which little can be concluded: the report says what cannot be, and why, and has no NaN."""

import re
from html import unescape

import numpy as np
import pytest

import proxcal as px
from proxcal.report.page import render

pytestmark = pytest.mark.filterwarnings(
    "ignore::proxcal.ProxcalWarning", "ignore::sklearn.exceptions.ConvergenceWarning"
)


def changed(samples, **arrays):
    return px.Predictions(**{"logits": samples.logits, "labels": samples.labels, "features": samples.features} | arrays)


def no_errors(samples):
    return changed(samples, labels=samples.logits.argmax(axis=1))


def all_errors(samples):
    return changed(samples, labels=(samples.logits.argmax(axis=1) + 1) % 10)


def one_proximity(samples):
    return changed(samples, features=np.ones((len(samples), 8)))


def thirty(samples):
    return samples.take(range(30))


def certain(samples):
    return changed(samples, logits=np.where(np.eye(10, dtype=bool)[samples.logits.argmax(axis=1)], 1e4, -1e4))


CASES = {
    no_errors: "are right, the one part as the other",
    all_errors: "are wrong, the one part as the other",
    one_proximity: "so many test samples have the same proximity",
    thirty: "there is nothing to compare|too few samples to compare",
    certain: "",
}


@pytest.fixture(scope="module", params=CASES, ids=lambda case: case.__name__)
def case(request, samples):
    return request.param, px.audit(request.param(samples), n_resamples=20)


@pytest.fixture(scope="module")
def text(case):
    """The page without what is encoded in it."""
    return re.sub(r'data:[^"]*', "", render(case[1]))


def test_the_page_says_what_cannot_be_concluded_and_why(case, text):
    assert re.search(CASES[case[0]], unescape(text))
    if case[0] is not certain:
        assert case[1].before.verdict.status == "inconclusive"
        assert "cannot be concluded" in case[1].summary


def test_there_is_no_nan_on_the_page_or_in_json(case, text):
    for shown in (text, case[1].to_json(), *case[1].limits):
        assert not re.search(r"\b(nan|NaN|inf|Infinity|None)\b", shown)


def test_overfitting_that_cannot_be_told_is_a_limit(samples):
    found = px.audit(one_proximity(samples), train=one_proximity(samples), n_resamples=20, informed=None)
    assert found.overfitting is None
    assert any("overfitting by proximity cannot be told: proximity is" in limit for limit in found.limits)
