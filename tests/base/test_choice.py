import numpy as np
import pytest
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

from proxcal.base import BASES, ForeignCalibrator, TemperatureScaling, make_base


@pytest.mark.parametrize("input", ["logits", "probs"])
@pytest.mark.parametrize("name", BASES)
def test_a_name_gives_its_class_for_the_kind_of_scores(name, input):
    base = make_base(name, input)
    assert type(base) is BASES[name]
    assert base.input == input


def test_a_calibrator_for_the_same_scores_is_copied():
    given = TemperatureScaling(input="probs")
    base = make_base(given, "probs")
    assert isinstance(base, TemperatureScaling)
    assert base is not given


def test_a_calibrator_for_the_other_scores_is_given_those(simulate):
    logits, labels = simulate()
    probs = softmax(logits, axis=1)
    base = make_base(TemperatureScaling(), "probs").fit(probs, labels)
    alone = TemperatureScaling().fit(np.log(probs), labels)
    assert base.preserves_order
    np.testing.assert_allclose(base.predict_proba(probs), alone.predict_proba(np.log(probs)), rtol=1e-12)


def test_any_object_with_fit_and_predict_proba_will_do():
    assert isinstance(make_base(LogisticRegression(), "logits"), ForeignCalibrator)


@pytest.mark.parametrize("base", ["temprature", None, 3, LogisticRegression, ["temperature"]])
def test_anything_else_is_refused_with_the_list_of_names(base):
    with pytest.raises(ValueError, match=r"base must be one of 'identity', 'temperature', .* or an object"):
        make_base(base, "logits")
