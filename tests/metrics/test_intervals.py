import numpy as np
import pytest
from statsmodels.stats.proportion import proportion_confint

from proxcal.metrics.intervals import wilson_interval


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_wilson_interval_is_statsmodels(level):
    right, n = np.array([0, 1, 7, 40, 50]), np.array([1, 1, 10, 50, 50])
    expected = proportion_confint(right, n, alpha=1 - level, method="wilson")
    np.testing.assert_allclose(wilson_interval(right / n, n, level), expected, atol=1e-12)


def test_wilson_interval_always_holds_its_accuracy():
    n = np.arange(1, 500)
    for accuracy in (0.0, 1.0):
        low, high = wilson_interval(np.full(len(n), accuracy), n)
        assert np.all((low <= accuracy) & (accuracy <= high))
