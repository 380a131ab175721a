import numpy as np
import pytest

from proxcal.plots import PairsDisplay


@pytest.fixture
def records():
    """Two errors of two calibrators; the second is not known beside."""
    return [
        {
            "method": method,
            "metric": metric,
            "base": size,
            "ours": size / 2,
            "beside_base": beside,
            "beside_ours": beside,
        }
        for metric, size in (("ece", 4.0), ("piece", 6.0))
        for method, beside in (("TS", 3.0), ("MIR", None))
    ]


def points(ax):
    return {line.get_label(): line.get_xdata() for line in ax.lines}


def test_points_are_the_errors_here_and_beside(records):
    ece, piece = PairsDisplay.from_results(records, beside="in print").axes_
    drawn = points(piece)
    assert list(drawn) == ["Base, here", "With proximity, here", "Base, in print", "With proximity, in print"]
    np.testing.assert_array_equal(drawn["Base, here"], [6, 6])
    np.testing.assert_array_equal(drawn["With proximity, here"], [3, 3])
    np.testing.assert_array_equal(drawn["Base, in print"], [3, np.nan])
    assert [ece.get_title(), piece.get_title()] == ["ECE", "PIECE"]


def test_rows_are_named_by_model_and_method_once(records):
    first, second = PairsDisplay.from_results([record | {"model": "ViT"} for record in records]).axes_
    assert [label.get_text() for label in first.get_yticklabels()] == ["ViT TS", "ViT MIR"]
    assert not any(label.get_text() for label in second.get_yticklabels())


def test_with_nothing_beside_there_is_one_pair_a_row(records):
    alone = [{name: record[name] for name in ("method", "metric", "base", "ours")} for record in records]
    assert list(points(PairsDisplay.from_results(alone).axes_[0])) == ["Base, here", "With proximity, here"]


@pytest.mark.parametrize("n_models", [1, 4])
def test_everything_fits(records, assert_readable, n_models):
    many = [record | {"model": f"Network{i}"} for record in records for i in range(n_models)]
    assert_readable(PairsDisplay.from_results(many, name="A table").figure_)
