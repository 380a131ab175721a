import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

from proxcal.integrations.torch import HeadInput, extract, extraction, find_head  # noqa: E402

N, D, C = 10, 4, 3


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(D, 5), nn.ReLU(), nn.Dropout(0.5), nn.Linear(5, C))


@pytest.fixture
def inputs():
    return torch.randn(N, D, generator=torch.Generator().manual_seed(1))


def expected(model, inputs):
    with torch.no_grad():
        hidden = model[:2](inputs)
        return model[3](hidden).numpy(), hidden.numpy()


@pytest.mark.parametrize("batch_size", [1, 3, N])
def test_logits_and_features_are_those_of_the_network_and_its_head(inputs, batch_size):
    model = network()
    found = extract(model, DataLoader(inputs, batch_size), features="float32")
    logits, features = expected(model, inputs)
    np.testing.assert_allclose(found.logits, logits, atol=1e-6)
    np.testing.assert_allclose(found.features, features, atol=1e-6)


def test_rows_copied_to_the_host_several_times_keep_their_order(inputs, monkeypatch):
    monkeypatch.setattr(extraction, "_COLLECT_BYTES", 100)
    found = extract(network(), DataLoader(inputs, 1))
    np.testing.assert_allclose(found.logits, expected(network(), inputs)[0], atol=1e-6)


def test_labels_and_ids_of_a_batch_are_kept(inputs):
    labels = torch.arange(N) % C
    batches = [(inputs[:6], labels[:6], ["a", "b", "c", "d", "e", "f"]), (inputs[6:], labels[6:], ["g", "h", "i", "j"])]
    found = extract(network(), batches)
    assert found.labels.tolist() == labels.tolist()
    assert "".join(found.ids) == "abcdefghij"


def test_a_loader_of_pairs_gives_labels(inputs):
    found = extract(network(), DataLoader(TensorDataset(inputs, torch.arange(N) % C), 4))
    assert found.labels.tolist() == [i % C for i in range(N)]


class ByName(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = network()

    def forward(self, values, mask=None):
        return {"logits": self.inner(values)}["logits"]


def test_a_mapping_is_taken_by_name_and_its_labels_are_kept_from_the_network(inputs):
    found = extract(ByName(), [{"values": inputs, "labels": torch.zeros(N, dtype=torch.long)}])
    np.testing.assert_allclose(found.logits, expected(network(), inputs)[0], atol=1e-6)
    assert found.labels.tolist() == [0] * N


def test_the_network_is_left_as_it_was(inputs):
    model = network().train()
    model[2].eval()
    extract(model, [inputs])
    assert [module.training for module in model] == [True, True, False, True]
    assert not model[3]._forward_pre_hooks


def test_it_is_left_as_it_was_after_an_error_too(inputs):
    model = network().train()
    with pytest.raises(RuntimeError):
        extract(model, [inputs[:, :2]])
    assert model.training
    assert not model[3]._forward_pre_hooks


def test_amp_computes_in_16_bits(inputs):
    model = network()
    full, half = (extract(model, [inputs], amp=amp).logits for amp in (False, True))
    np.testing.assert_allclose(half, full, atol=0.05)
    assert not np.array_equal(half, full)
    assert half.dtype == np.float32


class Tokens(nn.Module):
    """Like a generative language model's classifier: scores every token, and says what it thinks of the last one that
    is not padding (0)."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embedding, self.score = nn.Embedding(9, D), nn.Linear(D, C)

    def forward(self, tokens):
        last = (tokens != 0).cumsum(1).argmax(1)
        return self.score(self.embedding(tokens))[torch.arange(len(tokens)), last]


def test_where_every_token_is_scored_features_are_those_of_the_token_that_counts():
    model = Tokens()
    found = extract(model, [torch.tensor([[3, 4, 0, 0], [5, 6, 7, 0]])], features="float32")
    np.testing.assert_array_equal(found.features, model.embedding.weight[[4, 7]].detach().numpy())


def test_a_convolution_that_scores_a_map_gives_the_maps_mean():
    model = nn.Sequential(nn.Conv2d(3, D, 1), nn.ReLU(), nn.Conv2d(D, C, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    images = torch.randn(2, 3, 5, 5)
    found = extract(model, [images], features="float32")
    np.testing.assert_allclose(found.features, model[:2](images).mean((2, 3)).detach().numpy(), atol=1e-6)
    weight = model[2].weight.detach().numpy()[:, :, 0, 0]
    np.testing.assert_allclose(found.features @ weight.T + model[2].bias.detach().numpy(), found.logits, atol=1e-5)


def test_a_head_of_another_number_of_classes_is_refused_where_every_token_is_scored():
    model = Tokens()
    head = nn.Linear(D, 2)
    hook = HeadInput(head)
    head(model.embedding(torch.tensor([[1, 2]])))
    with pytest.raises(ValueError, match=r"the head gives shape \(1, 2, 2\) for logits of shape \(1, 3\)"):
        hook.take(torch.zeros(1, 3))


def test_features_that_are_not_finite_are_told(inputs):
    inputs[3] = torch.nan
    with pytest.raises(ValueError, match="logits has values that are not finite"):
        extract(network(), [inputs])


def test_features_beyond_float16_are_told(inputs):
    with pytest.raises(ValueError, match='features has values beyond float16, 65504; keep them as features="float32"'):
        extract(network(), [inputs * 1e6])


@pytest.mark.parametrize(
    ("loader", "message"), [([], "loader gave no batch"), ([(1, 2, 3, 4)], "a batch has 4 parts; it needs")]
)
def test_a_loader_that_gives_something_else_is_told(loader, message):
    with pytest.raises(ValueError, match=message):
        extract(network(), loader)


def test_progress_counts_batches(inputs):
    told = []
    extract(network(), DataLoader(inputs, 4), progress=lambda *each: told.append(each))
    assert told == [(1, 3, "batches"), (2, 3, "batches"), (3, 3, "batches")]


def test_the_last_convolution_is_the_head_where_there_is_no_linear_layer():
    model = nn.Sequential(nn.Conv2d(3, 4, 1), nn.Conv2d(4, 2, 1), nn.ReLU())
    assert find_head(model) is model[1]
