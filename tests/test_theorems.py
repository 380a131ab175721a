"""What the paper proves, on samples: theorem 4.2 (PIECE is at least ECE), theorem 5.1 (what Bin-Mean-Shift takes off
the Brier score, to o(1)) and what follows from it for several Bin-Mean-Shifts in a row. docs/theorems.ipynb shows the
same on the demo's data. In the samples drawn here P(correct) is known, so errors are measured without label noise."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, logit

import proxcal as px
from proxcal.informed import Chain

BINNINGS = [(15, 10), (5, 3), (1, 20), (10, 1)]


class Drawn:
    """Samples less likely right where proximity is low than their confidence says, and the chance of each."""

    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.confidence, self.proximity = rng.beta(4, 2, n), rng.random(n)
        self.chance = expit(logit(self.confidence) + 2 * (self.proximity - 0.7))
        self.correct = rng.random(n) < self.chance

    def fit(self, calibrator):
        return calibrator.fit(self.confidence, self.proximity, self.correct)

    def brier_of(self, predicted):
        """Expected over the labels."""
        return np.mean((predicted - self.chance) ** 2 + self.chance * (1 - self.chance))


@pytest.fixture(scope="module")
def population():
    return Drawn(100_000, seed=10_000)


def decomposition(fitted, samples):
    """Brier before, after, and what the shifts of the bins are in square, of an unclipped Bin-Mean-Shift with λ = 1."""
    after = fitted.predict(samples.confidence, samples.proximity)
    shifts = fitted.shift_[fitted._bins(samples.confidence, samples.proximity)]
    return samples.brier_of(samples.confidence), samples.brier_of(after), np.mean(shifts**2)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 300), st.integers(1, 20), st.integers(1, 12))
def test_piece_is_at_least_ece_whatever_the_sample_and_the_bins(seed, n, n_bins, n_proximity_bins):
    data = Drawn(n, seed)
    sample = (data.confidence, data.correct)
    with_proximity = px.piece(*sample, data.proximity, n_bins, n_proximity_bins, scheme="grid")
    assert with_proximity >= px.ece(*sample, n_bins) - 1e-12


def test_errors_that_do_not_cancel_within_a_bin_make_piece_no_larger_than_ece():
    """The equality of theorem 4.2: each of the ten bins by proximity is overconfident by 0.3."""
    confidence, proximity, correct = np.full(200, 0.8), np.linspace(0, 1, 200), np.arange(200) % 2 == 0
    assert px.piece(confidence, correct, proximity, 1, 10) == pytest.approx(px.ece(confidence, correct, 1))


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(200, 2000))
def test_on_its_own_samples_brier_falls_by_just_the_mean_square_of_the_shifts(seed, n):
    """Without the o(1): a bin's own accuracy and mean confidence are what its shift is made of."""
    data = Drawn(n, seed)
    data.confidence = 0.3 + 0.4 * data.confidence  # no shift reaches 0 or 1
    data.correct[::2], data.correct[1::2] = True, False
    data.chance = data.correct.astype(float)
    before, after, squares = decomposition(data.fit(px.BinMeanShift(n_bins=4, n_proximity_bins=3, shrinkage=1.0)), data)
    assert before == pytest.approx(after + squares, abs=1e-12)


def test_what_the_decomposition_leaves_over_vanishes_as_samples_grow(population):
    """Its o(1) falls like 1/√n: with 16 times the samples to a quarter. Half is asked for."""
    left_over = []
    for n in (500, 8_000, 128_000):
        fits = (Drawn(n, seed).fit(px.BinMeanShift(shrinkage=1.0)) for seed in range(8))
        parts = [decomposition(fitted, population) for fitted in fits]
        left_over.append(np.mean([abs(before - after - squares) for before, after, squares in parts]))
    assert left_over[1] < left_over[0] / 2
    assert left_over[2] < left_over[1] / 2
    assert left_over[2] < 0.001


def test_half_of_each_shift_takes_three_quarters_of_the_fall_off_brier(population):
    """λ (2 - λ) of it, for the paper's λ = ½."""
    drawn = Drawn(256_000, seed=0)
    full = decomposition(drawn.fit(px.BinMeanShift(shrinkage=1.0)), population)
    half = decomposition(drawn.fit(px.BinMeanShift(shrinkage=0.5)), population)
    assert half[0] - half[1] == pytest.approx(0.75 * (full[0] - full[1]), rel=0.02)


@pytest.mark.parametrize("shrinkage", [0.5, "auto"])
@pytest.mark.parametrize("n", [2_000, 10_000])
def test_each_further_bin_mean_shift_leaves_brier_no_higher_beyond_noise(population, n, shrinkage):
    """Noise: what the same steps do to a confidence that is calibrated, where all they can learn is noise."""
    steps = [px.BinMeanShift(n_bins=a, n_proximity_bins=b, shrinkage=shrinkage) for a, b in BINNINGS]
    rises = {"biased": [], "calibrated": []}
    for seed in range(4):
        data = Drawn(n, seed)
        for kind, confidence, of_population in (
            ("biased", data.confidence, population.confidence),
            ("calibrated", data.chance, population.chance),
        ):
            briers = [population.brier_of(of_population)]
            for k in range(1, len(steps) + 1):
                chain = Chain(steps=steps[:k]).fit(confidence, np.log(data.proximity), data.correct)
                briers.append(population.brier_of(chain.predict(of_population, np.log(population.proximity))))
            rises[kind].append(np.diff(briers))
    assert np.all(np.mean(rises["biased"], axis=0) <= np.mean(rises["calibrated"], axis=0).clip(0) + 1e-4)
    assert np.sum(np.mean(rises["biased"], axis=0)) < -0.003


def test_brier_of_two_classes_is_that_of_being_right(population):
    """The theorem's first step: it speaks of class 1's probability h_c, h where class 1 is predicted and 1 - h where
    class 0 is, and of the label; all above is of h, and of being right."""
    predicted = np.random.default_rng(0).integers(2, size=len(population.confidence)).astype(bool)
    label = predicted == population.correct
    fitted = Drawn(8_000, seed=1).fit(px.BinMeanShift(shrinkage=1.0))
    for h in (population.confidence, fitted.predict(population.confidence, population.proximity)):
        of_class_1 = np.where(predicted, h, 1 - h)
        assert np.mean((of_class_1 - label) ** 2) == pytest.approx(px.brier(h, population.correct))
