import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, log_loss

from proxcal.metrics import brier, multiclass_nll, nll


@pytest.fixture
def samples():
    rng = np.random.default_rng(0)
    confidence = np.append(rng.random(500), [0.0, 0.0, 1.0, 1.0])
    return confidence, np.append(rng.random(500) < confidence[:500], [False, True, False, True])


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.full(7, 0.3), size=400)
    probs[0] = np.eye(7)[0]
    return probs, np.append(1, rng.integers(0, 7, 399))


def test_brier_is_scikit_learns(samples):
    confidence, correct = samples
    assert brier(confidence, correct) == pytest.approx(brier_score_loss(correct, confidence), rel=1e-12)


def test_nll_is_scikit_learns_with_certain_mistakes_among_them(samples):
    confidence, correct = samples
    assert nll(confidence, correct) == pytest.approx(log_loss(correct, confidence), rel=1e-12)


def test_multiclass_nll_is_scikit_learns_with_a_certain_mistake_among_them(rows):
    probs, labels = rows
    assert multiclass_nll(probs, labels) == pytest.approx(log_loss(labels, probs, labels=np.arange(7)), rel=1e-12)


def test_multiclass_nll_of_two_classes_is_the_nll_of_one(samples):
    confidence, correct = samples
    both = np.stack([1 - confidence, confidence], axis=1)
    assert multiclass_nll(both, correct.astype(int)) == pytest.approx(nll(confidence, correct))


@pytest.mark.parametrize("score", [brier, nll])
def test_result_holds_the_loss_of_each_sample(samples, score):
    result = score(*samples, return_result=True)
    assert result.value == score(*samples) == pytest.approx(result.losses.mean())
    assert result.losses.shape == (504,)


def test_multiclass_result_holds_the_loss_of_each_row(rows):
    result = multiclass_nll(*rows, return_result=True)
    assert result.value == multiclass_nll(*rows) == pytest.approx(result.losses.mean())


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_multiclass_nll_takes_narrow_floats(rows, dtype):
    probs, labels = rows
    expected = multiclass_nll(probs.astype(dtype).astype(np.float64), labels)
    assert multiclass_nll(probs.astype(dtype), labels) == pytest.approx(expected)


def test_labels_out_of_range_are_refused():
    with pytest.raises(ValueError, match="labels has 3 in row 1; with 3 classes it needs 0 to 2"):
        multiclass_nll(np.full((2, 3), 1 / 3), [0, 3])
