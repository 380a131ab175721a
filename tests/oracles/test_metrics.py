"""ECE and MCE against netcal and torchmetrics, on samples where all three define them alike.

Not compared: confidences of exactly 1, which torchmetrics drops; ACE, which in netcal is the average, not the adaptive,
calibration error; the weighted MCE of the paper, which neither has.
"""

import numpy as np
import pytest

from proxcal.metrics import ece, mce


@pytest.fixture(params=[1, 10, 15], ids="{} bins".format)
def n_bins(request):
    return request.param


@pytest.fixture(params=[50, 5000], ids="n={}".format)
def samples(request):
    rng = np.random.default_rng(request.param)
    confidence = rng.beta(5, 1, request.param)
    return confidence, rng.random(request.param) < confidence**1.5


def test_ece_is_netcals(samples, n_bins):
    netcal = pytest.importorskip("netcal.metrics")
    confidence, correct = samples
    assert ece(*samples, n_bins) == pytest.approx(netcal.ECE(n_bins).measure(confidence, correct.astype(int)), abs=1e-9)


def test_mce_is_netcals(samples, n_bins):
    netcal = pytest.importorskip("netcal.metrics")
    confidence, correct = samples
    assert mce(*samples, n_bins) == pytest.approx(netcal.MCE(n_bins).measure(confidence, correct.astype(int)), abs=1e-9)


@pytest.mark.parametrize(("metric", "norm"), [(ece, "l1"), (mce, "max")])
def test_error_is_torchmetrics(samples, n_bins, metric, norm):
    torchmetrics = pytest.importorskip("torchmetrics.functional.classification")
    torch = pytest.importorskip("torch")
    confidence, correct = (torch.from_numpy(values) for values in samples)
    theirs = torchmetrics.binary_calibration_error(confidence, correct.int(), n_bins=n_bins, norm=norm)
    assert metric(*samples, n_bins) == pytest.approx(float(theirs), abs=1e-6)
