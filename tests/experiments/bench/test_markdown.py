import numpy as np
import pytest

from proxcal.experiments.bench.contest import Contest, Point
from proxcal.experiments.bench.markdown import markdown, number
from proxcal.experiments.bench.measuring import Sample


def cells(page, *words):
    """Of the only table row that begins with these words."""
    (row,) = [line for line in page.splitlines() if line.startswith(f"| {' | '.join(words)} |")]
    return [cell.strip() for cell in row.strip("|").split("|")][len(words) :]


def test_a_comparison_has_medians_and_ratios(result):
    found = cells(markdown(result, []), "density-ratio", "statsmodels")
    assert found[:6] == ["1", "2", "10", "4", "8", "5"]  # seconds, processor seconds and megabytes of each
    assert found[6:] == ["4", "4", "0.5", "1e-09"]


def test_what_was_left_out_is_said(result):
    assert "- density-ratio, faiss: not installed: pip install faiss-cpu" in markdown(result, [])


def test_the_machine_beside_is_said(result):
    assert cells(markdown(result, []), "density-ratio")[:2] == ["100 (90 to 110)", "11 (10 to 12)"]


def test_the_last_power_is_that_of_the_last_doubling(result):
    points = [Point("proxcal", "n", n, [Sample(s, s, None)]) for n, s in ((10, 1.0), (20, 2.0), (40, 8.0))]
    result.growth["density-ratio"] = {"n": points}
    page = markdown(result, ["growth-time.png"])
    assert cells(page, "density-ratio", "samples", "10 to 40") == ["1 to 8", "2.0", "– to –", "–"]
    assert "](growth-time.png)" in page


def test_the_papers_times_stand_beside_ours_in_searches(result):
    taken = {"NS": 0.004, "Conf": 0.001, "DEN*": 0.007, "proxcal's default": 0.009}
    samples = {name: [Sample(wall, wall, None)] for name, wall in taken.items()}
    result.stages["inference"] = Contest(samples, list(taken), {}, [(1.0, 1.0)])
    page = markdown(result, [])
    assert cells(page, "DEN*") == ["6.29", "17.2", "0.175", "1.5"]  # 7 ms for 40 samples; (7 − 1) / 4 searches
    assert cells(page, "proxcal's default") == ["–", "–", "0.225", "2"]


def test_quality_is_the_mean_over_files(result):
    row = {"ece": 0.1, "piece_minus_floor": 0.0, "nll": 0.3, "multiclass_nll": 1.0, "accuracy": 0.8}
    for name, more in (("a", 0.0), ("b", 0.2)):
        of_file = {"temperature": {metric: value + more for metric, value in row.items()}}
        result.quality[name] = {"fingerprint": "", "seeds": [0, 1], "calibrators": of_file}
    assert cells(markdown(result, []), "temperature") == ["0.2", "0.1", "0.4", "1.1", "0.9"]


@pytest.mark.parametrize(
    ("value", "text"), [(np.nan, "–"), (0.123456, "0.123"), (12_345.6, "12,346"), (999.9, "1e+03")]
)
def test_numbers_have_three_digits(value, text):
    assert number(value) == text
