import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from proxcal.integrations.torch import HeadInput, find_head, logits_of  # noqa: E402


class Network(nn.Module):
    """Like timm's: registers its head before the last layers, and says which it is."""

    def __init__(self, classifier):
        super().__init__()
        self.head, self.body, self.classifier = nn.Linear(8, 3), nn.Linear(4, 8), classifier

    def forward(self, x):
        return self.head(self.body(x))


class Timm(Network):
    def get_classifier(self):
        return self.classifier and getattr(self, self.classifier)


def sequential():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3), nn.Flatten())


def test_the_head_is_the_last_linear_layer():
    model = sequential()
    assert find_head(model) is model[2]


def test_a_timm_model_says_itself_which_is_its_head():
    model = Timm("head")
    assert find_head(model) is model.head


def test_a_config_tells_the_head_by_the_number_of_labels():
    model = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 3), nn.Linear(3, 7))
    model.config = type("Config", (), {"num_labels": 3})()
    assert find_head(model) is model[1]


def test_a_head_is_taken_by_name_or_as_it_is():
    model = sequential()
    assert find_head(model, "0") is find_head(model, model[0]) is model[0]


@pytest.mark.parametrize(
    ("model", "head", "message"),
    [
        (sequential(), "fc", "head is 'fc'.*last ones are"),
        (sequential(), nn.Linear(1, 1), "no part of the model"),
        (nn.Sequential(nn.ReLU()), None, "no linear layer"),
        (Timm(None), None, "num_classes=0"),
    ],
)
def test_a_head_that_is_not_there_is_told_in_one_line(model, head, message):
    with pytest.raises(ValueError, match=message):
        find_head(model, head)


def test_features_are_what_goes_into_the_head():
    model, x = sequential(), torch.randn(5, 4)
    kept = HeadInput(find_head(model))
    model(x)
    torch.testing.assert_close(kept.take(), model[:2](x))


def test_features_of_a_convolution_as_head_are_rows():
    model = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(6, 3, 1))
    kept = HeadInput(find_head(model, "1"))
    model(torch.randn(2, 6, 4, 4))
    assert kept.take().shape == (2, 6)


def test_a_head_before_the_pooling_is_refused():
    kept = HeadInput(head := nn.Linear(6, 3))
    head(torch.randn(2, 7, 6))
    with pytest.raises(ValueError, match=r"shape \(2, 7, 6\).*later head"):
        kept.take()


def test_a_head_that_was_not_called_is_told():
    with pytest.raises(ValueError, match="not called"):
        HeadInput(nn.Linear(6, 3)).take()


def test_nothing_is_kept_once_removed():
    kept = HeadInput(head := nn.Linear(6, 3))
    kept.remove()
    head(torch.randn(2, 6))
    with pytest.raises(ValueError, match="not called"):
        kept.take()


def test_logits_are_found_in_what_models_return():
    logits = torch.randn(2, 3)
    output = type("Output", (), {"logits": logits})()
    assert all(logits_of(given) is logits for given in (logits, output, (logits, None)))
    with pytest.raises(ValueError, match="gives a dict"):
        logits_of({"scores": logits})
