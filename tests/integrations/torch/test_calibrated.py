import copy

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

import proxcal as px  # noqa: E402
from proxcal.integrations.torch import CalibratedModule  # noqa: E402

FIELDS = ("probs", "predicted", "confidence", "log_proximity")


@pytest.fixture
def procal(fit):
    return fit(informed="neighborhood")


@pytest.fixture
def module(make_network, procal):
    return CalibratedModule(make_network(), procal).eval()


@pytest.fixture
def expected(procal, held_out):
    return procal.calibrate(held_out.logits, held_out.features)


def assert_equal(found, expected, tolerance=1e-5):
    for name in FIELDS:
        values = np.asarray(getattr(found, name).detach())
        np.testing.assert_allclose(values, np.asarray(getattr(expected, name)), atol=tolerance, err_msg=name)


@pytest.mark.parametrize("base", ["temperature", "vector", "isotonic", "neighbor-votes"])
def test_a_forward_pass_gives_what_procal_says_of_logits_and_features(fit, make_network, held_out, test_inputs, base):
    procal = fit(base=base)
    found = CalibratedModule(make_network(), procal).eval()(test_inputs)
    assert_equal(found, procal.calibrate(held_out.logits, held_out.features))


def test_proximity_is_that_of_the_search(module, procal, held_out, test_inputs):
    expected = procal.proximity_.score(held_out.features)
    np.testing.assert_allclose(module(test_inputs).proximity.detach(), expected, atol=1e-5)


def test_a_procal_that_asks_for_no_neighbours_gives_no_proximity(fit, make_network, test_inputs):
    found = CalibratedModule(make_network(), fit(informed=None))(test_inputs)
    assert found.proximity is found.log_proximity is None


def test_a_batch_of_one_gets_the_same(module, expected, test_inputs):
    assert_equal(module(test_inputs[:1]), type(expected)(*(getattr(expected, name)[:1] for name in FIELDS)))


def test_the_state_of_one_loads_into_another_of_the_same_shapes(module, make_network, seen, expected, test_inputs):
    other = px.ProCal(informed="neighborhood").fit(seen.logits[60:], seen.labels[60:], features=seen.features[60:])
    fresh = make_network()
    fresh[0].reset_parameters()
    loaded = CalibratedModule(fresh, other).eval()
    loaded.load_state_dict(module.state_dict())
    assert_equal(loaded(test_inputs), expected)


def test_references_are_no_parameters(module, make_network):
    assert len(list(module.parameters())) == len(list(make_network().parameters()))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compiled_whole_it_gives_the_same(module, expected, test_inputs, backend):
    compiled = torch.compile(module, backend=backend, fullgraph=True)
    with torch.no_grad():
        assert_equal(compiled(test_inputs), expected)


def test_under_autocast_the_calibration_is_that_of_the_scores_as_they_come(module, procal, make_network, test_inputs):
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        found = module(test_inputs)
        features = make_network()[:3](test_inputs)
        scores = make_network()[3](features)
    assert scores.dtype == torch.bfloat16
    assert_equal(found, procal.calibrate(scores.float().numpy(), features.float().numpy()))


def test_a_network_in_bfloat16_keeps_its_calibration_in_float64(module, test_inputs):
    module.to(torch.bfloat16)
    assert module(test_inputs.bfloat16()).probs.dtype == torch.float32
    assert module.calibration.base.temperature.dtype == torch.float64


def test_a_copy_works_on_its_own(module, expected, test_inputs):
    copied = copy.deepcopy(module)
    nn.init.zeros_(module.model[0].weight)
    assert_equal(copied(test_inputs), expected)


def test_calls_of_the_bare_network_leave_one_batch_of_features_at_most(module, expected, test_inputs):
    for _ in range(3):
        module.model(test_inputs)
    assert len(module._head_input._kept) == 1
    assert_equal(module(test_inputs), expected)


def test_gradients_reach_the_inputs(module, test_inputs):
    given = test_inputs.clone().requires_grad_()
    module(given).confidence.sum().backward()
    assert given.grad.isfinite().all()
    assert given.grad.any()


def test_compressed_it_says_what_the_compressed_procal_says(make_network, procal, held_out, test_inputs):
    module = CalibratedModule(make_network(), procal, compress={"n_references": 100})
    assert_equal(module(test_inputs), procal.compress(n_references=100).calibrate(held_out.logits, held_out.features))


class ByName(nn.Module):
    """Like transformers' models: inputs by name, logits in an output."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, *, pixels):
        return type("Output", (), {"logits": self.inner(pixels)})()


def test_a_network_is_given_its_inputs_by_name(make_network, procal, expected, test_inputs):
    assert_equal(CalibratedModule(ByName(make_network()), procal)(pixels=test_inputs), expected)


def test_another_layer_than_the_one_it_was_fitted_on_is_told(make_network, procal):
    with pytest.raises(ValueError, match="gives 12 classes; procal was fitted with 4"):
        CalibratedModule(make_network(), procal, head="0")


def test_references_of_another_width_are_told(procal):
    with pytest.raises(ValueError, match="takes 5 features; procal's references have 12"):
        CalibratedModule(nn.Linear(5, 4), procal)
