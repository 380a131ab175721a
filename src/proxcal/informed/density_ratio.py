"""Density-Ratio: P(correct | confidence, proximity) by Bayes' rule, from kernel densities of the correct and the wrong.

posterior odds = prior odds × density ratio, in one of two ways:

- prior="share", the paper's (section 5.1, algorithm 1): the prior odds are n₊/n₋ and the ratio is k₊/k₋, so that
  s = k₊ / (k₊ + γ k₋) with γ = n₋/n₊. The confidence has to be estimated anew from its place, and whatever the kernels
  blur is lost of it.
- prior="confidence": the prior odds are the confidence's own, and each density is divided by the one the confidence
  foretells: (Σ K over the correct / Σ K c over all) over (Σ K over the wrong / Σ K (1 - c) over all). Where the
  confidence was right, the ratio is 1 however wide the kernels; so they may be wide, and few samples do little harm.
  One pseudo-sample that is as foretold keeps the ratio finite, and 1 far from all samples. A base that is off as a
  whole is straightened by a line in its log-odds first. On six real data sets (temperature scaling, 4000 to 6000
  samples) this changed log loss by -0.0011 where "share" changed it by +0.0022; with 300 samples by +0.0008 against
  +0.0170.

coordinates="normal" puts both axes on normal scores: a density ratio does not change with smooth coordinates, and its
estimate is far better conditioned there. coordinates="paper" takes confidence and proximity as they are, with the
bandwidths 1.06 σ n^(-1/6) of statsmodels' KDEMultivariate(bw="normal_reference").

Batches (`partial_fit`) are added to the weights that samples hand to the grid's nodes, four numbers a node, and no
sample is kept. The first batch sets the normal scores, the line and the bandwidth, and with these the result is that of
all samples at once.
"""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from proxcal._validation import Bools, Floats, Ints, ProxcalWarning, check_choice, check_samples
from proxcal.informed._calibrator import InformedCalibrator
from proxcal.informed._kde import Grid, log_kernel_sums
from proxcal.informed._normal_scores import NormalScores
from proxcal.informed._ridge import log_loss, log_odds, newton

LogSums = Callable[[Floats, Floats, Floats], Floats]  # samples, weights, bandwidth: log Σ w K, on a new last axis

FEWEST = 2  # correct, and wrong: one sample has no spread to take a bandwidth from
WIDENING = 2.5  # of the bandwidth where the prior is the confidence; measured: 2 to 4 are alike
BANDWIDTH_FLOOR = 0.01  # of both sides' common bandwidth
LINE_RIDGE = 1e-3  # keeps the line finite where the samples can be told apart without error
ROUNDING = 1e-12  # a range this small beside the values is none
NEGLIGIBLE = 1.0  # samples' worth of kernel: with less, a grid value is recomputed exactly


class DensityRatio(InformedCalibrator):
    """Confidence and proximity to the posterior probability of being correct.

    Parameters
    ----------
    coordinates : "normal", each axis on its normal scores, or "paper", as they are (proximity then in (0, 1]).
    evaluation : "grid", within 1e-4 of "exact" wherever there are samples to speak of and hundreds of times as fast.
    prior : "confidence" or "share", as above; None is "confidence" in normal coordinates and "share" in the paper's.

    With fewer than two correct or two wrong samples nothing can be learned: `fit` warns, and `predict` returns the
    confidence as it came.
    """

    surface_: Floats | None
    spread_: Floats
    counts_: Ints

    def __init__(
        self,
        *,
        coordinates: Literal["normal", "paper"] = "normal",
        evaluation: Literal["grid", "exact"] = "grid",
        prior: Literal["confidence", "share"] | None = None,
    ) -> None:
        self.coordinates = coordinates
        self.evaluation = evaluation
        self.prior = prior

    @property
    def proximity_scale(self) -> Literal["log", "plain"]:  # type: ignore[override]
        return "plain" if self.coordinates == "paper" else "log"

    def fit(self, confidence: ArrayLike, proximity: ArrayLike, correct: ArrayLike) -> Self:
        check_choice("coordinates", self.coordinates, ("normal", "paper"))
        check_choice("evaluation", self.evaluation, ("grid", "exact"))
        check_choice("prior", self.prior, ("confidence", "share", None))
        self.__dict__.pop("spread_", None)
        p, d, right = check_samples(confidence=confidence, proximity=proximity, correct=correct)
        self.usable_ = bool(min(right.sum(), (~right).sum()) >= FEWEST)
        if not self.usable_:
            warnings.warn(_too_few(right), ProxcalWarning, stacklevel=2)
            return self
        if self.coordinates == "normal":
            self.confidence_scores_, self.proximity_scores_ = NormalScores().fit(p), NormalScores().fit(d)
        self.points_, self.correct_ = self._points(p, d), right
        if self._relative:
            self.longest_odds_ = float(np.log(2 * len(p)))
            self.prior_line_ = _prior_line(self._odds(p), right)
            self.foretold_ = expit(self._prior_odds(p))
            self.bandwidths_ = WIDENING * _reference_bandwidths(self.points_, np.ones_like(right))
        else:
            self.longest_odds_, self.prior_line_ = 0.0, np.zeros(2)
            self.bandwidths_ = _reference_bandwidths(self.points_, right, ~right)
        self._tabulate()
        return self

    def partial_fit(self, confidence: ArrayLike, proximity: ArrayLike, correct: ArrayLike) -> Self:
        """Learn from one batch more, in normal coordinates, on the grid and with the confidence as prior. The first
        should be a fair sample; one with too few right or wrong samples is forgotten, with `fit`'s warning."""
        if self.coordinates != "normal" or self.evaluation != "grid" or not self._relative:
            raise ValueError(
                f"coordinates={self.coordinates!r}, evaluation={self.evaluation!r}, prior={self.prior!r}: partial_fit"
                ' needs coordinates="normal", evaluation="grid" and prior="confidence" (or None)'
            )
        if not getattr(self, "usable_", False):
            return self.fit(confidence, proximity, correct)
        p, d, right = check_samples(confidence=confidence, proximity=proximity, correct=correct)
        if not hasattr(self, "spread_"):
            self._keep_sums_alone()
        grid, weights = self._grid(self.spread_.shape[1:]), _weights(right, expit(self._prior_odds(p)))
        self.spread_ = self.spread_ + grid.spread(self._points(p, d), weights)
        self.counts_ = self.counts_ + np.array([right.sum(), len(right)])
        sums = grid.log_smoothed(self.spread_, self.bandwidths_[0])
        right_odds, wrong_odds = _against_foretold(sums, self.counts_[0] / self.counts_[1])
        self.surface_ = right_odds - wrong_odds
        return self

    def _keep_sums_alone(self) -> None:
        if self.surface_ is None:
            raise ValueError(
                "the first batch lies too close together for a grid, without which no batch can be added; fit all"
                " samples at once"
            )
        self.counts_ = np.array([self.correct_.sum(), len(self.correct_)])
        self.spread_ = self._grid(self.surface_.shape).spread(self.points_, _weights(self.correct_, self.foretold_))
        self.points_, self.correct_, self.foretold_ = self.points_[:0], self.correct_[:0], self.foretold_[:0]

    def predict(self, confidence: ArrayLike, proximity: ArrayLike) -> Floats:
        check_is_fitted(self)
        p, d = check_samples(confidence=confidence, proximity=proximity)
        if not self.usable_:
            return np.array(p)
        predicted: Floats = expit(self._prior_odds(p) + self._log_ratio(self._points(p, d)))
        return predicted

    @property
    def _relative(self) -> bool:
        return (self.prior or ("confidence" if self.coordinates == "normal" else "share")) == "confidence"

    def _points(self, confidence: Floats, proximity: Floats) -> Floats:
        """(n, 2), each axis in one piece."""
        if self.coordinates == "normal":
            confidence = self.confidence_scores_.transform(confidence)
            proximity = self.proximity_scores_.transform(proximity)
        return np.array([confidence, proximity]).T

    def _prior_odds(self, confidence: Floats) -> Floats:
        """In logarithms. The share's n₊/n₋ is already in the ratio, whose sums are not divided by n₊ and n₋."""
        odds: Floats = self.prior_line_[0] + self.prior_line_[1] * self._odds(confidence)
        return odds

    def _odds(self, confidence: Floats) -> Floats:
        """In logarithms, and no longer than 2n to 1: n samples, all right, tell of no more, so a 1 is no certainty."""
        odds: Floats = np.clip(log_odds(confidence), -self.longest_odds_, self.longest_odds_)
        return odds

    def _log_ratio(self, points: Floats) -> Floats:
        """From the grid; exactly where there is none, beyond it, and where it holds NaN."""
        ratio = np.full(len(points), np.nan)
        if self.surface_ is not None:
            ratio = self._grid(self.surface_.shape).interpolate(self.surface_, points)
        rest = np.isnan(ratio)
        if rest.any():
            right, wrong = self._log_sides(partial(log_kernel_sums, points[rest]))
            ratio[rest] = right - wrong
        return ratio

    def _grid(self, shape: tuple[int, ...]) -> Grid:
        return Grid(self.grid_origin_, self.grid_spacing_, (shape[0], shape[1]))

    def _tabulate(self) -> None:
        self.surface_ = None
        grid = Grid.around(self.points_, self.bandwidths_) if self.evaluation == "grid" else None
        if grid is None:
            return
        right, wrong = self._log_sides(grid.log_kernel_sums)
        known = np.isfinite(right) & np.isfinite(wrong)
        if not self._relative:
            known &= np.logaddexp(right, wrong) >= np.log(NEGLIGIBLE)
        self.surface_ = np.full(grid.shape, np.nan)
        self.surface_[known] = right[known] - wrong[known]
        self.grid_origin_, self.grid_spacing_ = grid.origin, grid.spacing

    def _log_sides(self, log_sums: LogSums) -> tuple[Floats, Floats]:
        """What speaks for correct and what for wrong: the two logarithms whose difference is the ratio's."""
        if not self._relative:
            return self._against_each_other(log_sums)
        sums = log_sums(self.points_, _weights(self.correct_, self.foretold_), self.bandwidths_[0])
        return _against_foretold(sums, self.correct_.mean())

    def _against_each_other(self, log_sums: LogSums) -> tuple[Floats, Floats]:
        """Densities but for a factor they share: both are in units of one wrong sample's kernel."""
        right, wrong = (
            log_sums(self.points_[side], np.ones((side.sum(), 1)), bandwidth)[..., 0]
            for side, bandwidth in zip((self.correct_, ~self.correct_), self.bandwidths_, strict=True)
        )
        return right - np.log(self.bandwidths_[0] / self.bandwidths_[1]).sum(), wrong


def _weights(correct: Bools, foretold: Floats) -> Floats:
    return np.column_stack([correct, foretold, ~correct, 1 - foretold])


def _against_foretold(log_sums: Floats, share: float) -> tuple[Floats, Floats]:
    """How many times as many are correct as foretold, and how many times as many wrong; `share` of all are correct."""
    pseudo_sample = np.log([share, share, 1 - share, 1 - share])
    sums = np.logaddexp(log_sums, pseudo_sample)
    return sums[..., 0] - sums[..., 1], sums[..., 2] - sums[..., 3]


def _prior_line(odds: Floats, correct: Bools) -> Floats:
    """Intercept and slope for the confidence's log-odds: by likelihood, pulled to (0, 1) by what two parameters gain by
    chance (ln n of log likelihood, as in BIC). It straightens an overconfident base and leaves a calibrated one be."""
    columns = np.column_stack([np.ones_like(odds), odds])
    change = newton(columns, np.full(2, LINE_RIDGE), odds, correct, np.zeros(2))
    gain = np.sum(log_loss(odds, correct) - log_loss(odds + columns @ change, correct))
    believed = max(0.0, 1 - np.log(len(odds)) / gain) if gain > 0 else 0.0
    return np.array([0.0, 1.0]) + believed * change


def _reference_bandwidths(points: Floats, *sides: Bools) -> Floats:
    """1.06 σ n^(-1/6) of each side (a row) on each axis; no narrower than a share of what all samples together get.

    On an axis where all are equal, any width will do, as it says nothing.
    """
    floor = BANDWIDTH_FLOOR * _reference_bandwidth(points)
    floor[floor == 0] = 1
    return np.array([np.maximum(_reference_bandwidth(points[side]), floor) for side in sides])


def _reference_bandwidth(points: Floats) -> Floats:
    spread = points.std(axis=0)
    spread[np.ptp(points, axis=0) <= ROUNDING * np.abs(points).max(axis=0)] = 0
    bandwidth: Floats = 1.06 * spread * len(points) ** (-1 / 6)
    return bandwidth


def _too_few(correct: Bools) -> str:
    return (
        f"correct has {correct.sum()} right and {(~correct).sum()} wrong samples; a density ratio needs {FEWEST} of "
        "each, so the confidence stays unchanged"
    )
