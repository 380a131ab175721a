import dataclasses

import pytest

from proxcal.report.facts import Along, Bias
from proxcal.report.verdict import judge, p_text, points, summarize

BIAS = Bias(0.1, 0.05, 0.15, 0.001, 0.1, 400, 0.7, 0.8, 0.75, 0.75, 0.5, 5, "one-to-one", "mcnemar")
ALONG = Along(0.01, 0.3, 400)


def of(**changes):
    return judge(dataclasses.replace(BIAS, **changes), None, ALONG)


def test_a_significant_index_is_bias_by_so_many_points():
    assert of().status == "bias"
    assert "is right 10.0 percentage points less often than" in of().text
    assert "95 % interval 5.0 to 15.0, p = 0.001; 400 pairs" in of().text


def test_a_significant_negative_index_is_bias_the_other_way():
    found = of(bias_index=-0.1, low=-0.15, high=-0.05)
    assert found.status == "reverse bias"
    assert "10.0 percentage points more often than" in found.text


def test_a_narrow_interval_excludes_a_large_bias():
    found = of(bias_index=0.01, low=-0.02, high=0.04, p_value=0.5)
    assert found.status == "none found"
    assert "More than 4.0 points either way is excluded." in found.text


def test_a_wide_interval_concludes_nothing():
    found = of(bias_index=0.01, low=-0.02, high=0.14, p_value=0.5)
    assert found.status == "inconclusive"
    assert "a bias of up to 14.0 points is not excluded" in found.text


def test_without_a_test_the_reason_is_given():
    assert judge(None, "all are right", ALONG).text.startswith("There is no test, because all are right.")


def test_thirds_are_called_thirds():
    assert "the third of the inputs" in of(n_groups=3).text


@pytest.mark.parametrize(("p_value", "words"), [(0.3, "not shown to be wrong (p = 0.3)"), (1e-9, "wrong (p < 0.0001)")])
def test_the_second_test_is_told_too(p_value, words):
    assert f"confidence is {words}." in judge(BIAS, None, Along(0.01, p_value, 400)).text


def test_with_one_proximity_there_is_only_an_overall_error():
    assert "Overall, confidence is wrong" in judge(BIAS, None, Along(0.1, 0.001, 1)).text


NONE = of(bias_index=0.01, low=-0.02, high=0.04, p_value=0.5)


@pytest.mark.parametrize(
    ("verdicts", "words"),
    [
        ((of(), of(), NONE), "Proximity bias found in it and after TS; none found after ProCal."),
        ((of(), NONE, NONE), "Proximity bias found in it; none found after TS and after ProCal."),
        ((NONE, of(), NONE), "No proximity bias found in it; bias found after TS; none found after ProCal."),
        ((NONE,) * 3, "No proximity bias found in it and after TS and after ProCal."),
        (
            (of(), judge(None, "x", ALONG), of(bias_index=-0.1)),
            "Proximity bias found in it; nothing can be concluded after TS; reverse bias found after ProCal.",
        ),
    ],
)
def test_the_summary_leaves_no_verdict_out(verdicts, words):
    assert summarize(dict(zip(("in it", "after TS", "after ProCal"), verdicts, strict=True))) == words


@pytest.mark.parametrize(("share", "shown"), [(0.1234, "12.3"), (-0.05, "−5.0"), (-0.0001, "0.0"), (0, "0.0")])
def test_points_have_a_true_minus_and_no_negative_zero(share, shown):
    assert points(share) == shown


def test_a_tiny_p_value_is_not_called_zero():
    assert p_text(0.0) == "p < 0.0001"
