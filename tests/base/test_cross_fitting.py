import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression as AnyIsotonic

from proxcal._held_out import assign_folds
from proxcal.base import ForeignCalibrator, HistogramBinning, IsotonicRegression, TemperatureScaling
from proxcal.base._cross_fitting import N_FOLDS, held_out_blocks
from proxcal.base._top import Top

pytestmark = pytest.mark.filterwarnings("ignore::proxcal._validation.ProxcalWarning")


def test_each_sample_gets_its_row_from_a_fit_without_its_fold(simulate):
    logits, labels = simulate(n=103)
    rows = np.full(logits.shape, np.nan)
    for places, some in held_out_blocks(TemperatureScaling(), logits, labels, 3):
        rows[places] = some
    folds = assign_folds(103, 3, N_FOLDS)
    for fold in range(N_FOLDS):
        fitted = TemperatureScaling().fit(logits[folds != fold], labels[folds != fold])
        np.testing.assert_array_equal(rows[folds == fold], fitted.predict_proba(logits[folds == fold]))


def test_the_base_given_is_left_as_it_is(simulate):
    base = TemperatureScaling().fit(*simulate())
    before = base.temperature_
    list(held_out_blocks(base, *simulate(temperature=9), 0))
    assert base.temperature_ == before


@pytest.mark.parametrize("base", [HistogramBinning(), IsotonicRegression()])
def test_over_many_classes_held_out_rows_are_not_as_sure_of_being_right(simulate, base):
    logits, labels = simulate(n=2000, n_classes=200, temperature=1)
    seen = Top.of(base.fit(logits, labels).blocks(logits), 2000)
    held_out = Top.of(held_out_blocks(base, logits, labels, 0), 2000)
    excess = [np.mean(top.predicted == labels) - top.confidence.mean() for top in (seen, held_out)]
    assert excess[0] > excess[1] + 0.03


def test_of_anyones_object_the_worse_is_assumed_unless_it_says_otherwise():
    own = AnyIsotonic()
    assert ForeignCalibrator(calibrator=own).fits_closely
    own.fits_closely = False
    assert not ForeignCalibrator(calibrator=own).fits_closely
    assert not ForeignCalibrator(calibrator=TemperatureScaling(input="probs")).fits_closely
