import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from proxcal.metrics import ace, ece, piece

UNIT = st.floats(0, 1, width=16)


@st.composite
def samples(draw):
    n = draw(st.integers(1, 80))
    of_unit = arrays(np.float64, n, elements=UNIT)
    return draw(of_unit), draw(arrays(np.bool_, n)), draw(of_unit)


@pytest.fixture
def many():
    rng = np.random.default_rng(1)
    confidence, proximity = rng.beta(4, 1, 2000), rng.random(2000)
    return confidence, rng.random(2000) < confidence * (0.7 + 0.3 * proximity), proximity


def by_rank(members, values, n_bins):
    ranked = sorted(members, key=lambda i: values[i])
    return [[i for rank, i in enumerate(ranked) if rank * n_bins // len(ranked) == b] for b in range(n_bins)]


def error_over(groups, confidence, correct):
    return sum(abs(sum(confidence[i] - correct[i] for i in group)) for group in groups) / len(confidence)


def test_nested_piece_is_the_formula(many):
    confidence, correct, proximity = many
    groups = [g for outer in by_rank(range(2000), confidence, 15) for g in by_rank(outer, proximity, 10)]
    assert piece(*many) == pytest.approx(error_over(groups, confidence, correct), abs=1e-12)


def test_grid_piece_is_the_formula(many):
    confidence, correct, proximity = many
    groups = [
        [i for i in inner if b / 15 <= confidence[i] < (b + 1) / 15]
        for inner in by_rank(range(2000), proximity, 10)
        for b in range(15)
    ]
    assert piece(*many, scheme="grid") == pytest.approx(error_over(groups, confidence, correct), abs=1e-12)


def test_the_papers_example_has_ece_0_and_piece_02():
    confidence, proximity = np.full(100, 0.7), np.repeat([0.2, 0.8], 50)
    correct = np.tile(np.arange(50), 2) < np.where(proximity == 0.2, 25, 45)
    assert ece(confidence, correct) == pytest.approx(0, abs=1e-12)
    assert piece(confidence, correct, proximity, 1, 2) == pytest.approx(0.2)


@given(samples())
def test_piece_is_at_least_the_error_on_its_own_confidence_bins(sample):
    assert piece(*sample) >= ace(*sample[:2]) - 1e-12


@given(samples())
def test_grid_piece_is_at_least_ece(sample):
    assert piece(*sample, scheme="grid") >= ece(*sample[:2]) - 1e-12


@given(samples(), st.sampled_from(["nested", "grid"]))
def test_piece_lies_in_the_unit_interval(sample, scheme):
    assert 0 <= piece(*sample, scheme=scheme) <= 1 + 1e-12


@given(st.integers(0, 2**32 - 1), st.sampled_from(["nested", "grid"]))
def test_the_order_of_samples_without_ties_does_not_matter(seed, scheme):
    rng = np.random.default_rng(seed)
    confidence, proximity = (rng.permutation(np.linspace(0.01, 0.99, 60)) for _ in range(2))
    correct, order = rng.random(60) < confidence, rng.permutation(60)
    value = piece(confidence, correct, proximity, 4, 3, scheme=scheme)
    assert piece(confidence[order], correct[order], proximity[order], 4, 3, scheme=scheme) == pytest.approx(value)


def test_only_the_ranks_of_proximity_matter(many):
    confidence, correct, proximity = many
    assert piece(confidence, correct, np.log(proximity) * 1000) == piece(*many)


@pytest.mark.parametrize("scheme", ["nested", "grid"])
def test_one_proximity_bin_gives_the_error_without_proximity(many, scheme):
    without = ace(*many[:2]) if scheme == "nested" else ece(*many[:2])
    assert piece(*many, n_proximity_bins=1, scheme=scheme) == pytest.approx(without)


@pytest.mark.parametrize("scheme", ["nested", "grid"])
def test_fewer_samples_than_bins_leave_bins_empty(scheme):
    result = piece([0.9, 0.2, 0.8], [1, 0, 0], [0.5, 0.6, 0.7], scheme=scheme, return_result=True)
    assert result.value == pytest.approx((0.1 + 0.2 + 0.8) / 3)
    assert result.count.sum() == 3
    assert np.isfinite(result.edges).all()
    assert np.isfinite(result.proximity_edges).all()


@pytest.mark.parametrize("scheme", ["nested", "grid"])
def test_constant_proximity_and_confidence_are_defined(scheme):
    value = piece(np.full(600, 0.75), np.arange(600) % 4 > 0, np.ones(600), scheme=scheme)
    assert value == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("scheme", ["nested", "grid"])
def test_result_has_a_row_a_confidence_bin_and_a_column_a_proximity_bin(many, scheme):
    result = piece(*many, 6, 4, scheme=scheme, return_result=True)
    assert result.value == piece(*many, 6, 4, scheme=scheme)
    assert result.count.shape == result.confidence.shape == result.accuracy.shape == (6, 4)
    assert result.edges.shape == (7,)
    assert result.proximity_edges.shape == (6, 5)
    np.testing.assert_array_equal(np.bincount(result.bins, minlength=24).reshape(6, 4), result.count)


@pytest.mark.parametrize("scheme", ["nested", "grid"])
def test_every_sample_lies_between_the_edges_of_its_bin(many, scheme):
    confidence, _, proximity = many
    result = piece(*many, 6, 4, scheme=scheme, return_result=True)
    row, column = np.divmod(result.bins, 4)
    edges = result.proximity_edges
    assert np.all((result.edges[row] <= confidence) & (confidence <= result.edges[row + 1]))
    assert np.all((edges[row, column] <= proximity) & (proximity <= edges[row, column + 1]))


def test_an_unknown_scheme_is_refused(many):
    with pytest.raises(ValueError, match="scheme must be one of 'nested', 'grid'; got 'quantile'"):
        piece(*many, scheme="quantile")


def test_a_missing_proximity_bin_is_refused(many):
    with pytest.raises(ValueError, match="n_proximity_bins must be a whole number of at least 1; got 0"):
        piece(*many, n_proximity_bins=0)
