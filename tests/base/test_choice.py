import pytest
from sklearn.linear_model import LogisticRegression

from proxcal.base import BASES, EnsembleTemperatureScaling, ForeignCalibrator, make_base


@pytest.mark.parametrize("input", ["logits", "probs"])
@pytest.mark.parametrize("name", BASES)
def test_a_name_gives_its_class_for_the_kind_of_scores(name, input):
    base = make_base(name, input)
    assert type(base) is BASES[name]
    assert base.input == input


@pytest.mark.parametrize("input", ["logits", "probs"])
def test_an_object_of_ours_is_copied_with_its_settings_for_the_scores_that_come(input):
    given = EnsembleTemperatureScaling(loss="brier", input="probs")
    base = make_base(given, input)
    assert base is not given
    assert isinstance(base, EnsembleTemperatureScaling)
    assert (base.loss, base.input, given.input) == ("brier", input, "probs")


def test_any_object_with_fit_and_predict_proba_will_do():
    assert isinstance(make_base(LogisticRegression(), "logits"), ForeignCalibrator)


@pytest.mark.parametrize("base", ["temprature", None, 3, LogisticRegression, ["temperature"]])
def test_anything_else_is_refused_with_the_list_of_names(base):
    with pytest.raises(ValueError, match=r"base must be one of 'identity', 'temperature', .* or an object"):
        make_base(base, "logits")
