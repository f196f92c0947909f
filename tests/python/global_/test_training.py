"""Modules and optimizers on global parameters learn what they learn on one device."""

import functools

import numpy as np
import pytest
import small_gpt
import thalweg as tw
from thalweg import nn
from thalweg.nn import functional as F

S, B = tw.sbp.split, tw.sbp.broadcast
LINE = tw.placement("cpu", [0, 1, 2, 3])
MESH = tw.placement("cpu", [[0, 1], [2, 3]])


@functools.cache
def alone(heads):
    return small_gpt.train(None, 20, heads=heads)


@pytest.mark.parametrize("graph", [False, True], ids=["eager", "program"])
@pytest.mark.parametrize("name", small_gpt.PLANS)
def test_gpt_learns_the_same(name, graph):
    plan = small_gpt.PLANS[name]
    curve, masks, model = small_gpt.train(plan, 20, graph)
    expected, expected_masks, _ = alone(plan.heads)
    np.testing.assert_allclose(curve, expected, rtol=1e-5, atol=1e-6)
    assert masks == expected_masks
    for param in model.parameters():
        assert param.grad.sbp == param.sbp and param.is_global


OPTIMIZERS = {
    "SGD": lambda p: tw.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01),
    "Adam": lambda p: tw.optim.Adam(p, lr=0.01, amsgrad=True),
    "AdamW": lambda p: tw.optim.AdamW(p, lr=0.01),
    "Adagrad": lambda p: tw.optim.Adagrad(p, lr=0.05),
    "Adadelta": lambda p: tw.optim.Adadelta(p, lr=1.0),
    "Adamax": lambda p: tw.optim.Adamax(p, lr=0.01),
    "ASGD": lambda p: tw.optim.ASGD(p, lr=0.05),
    "LAMB": lambda p: tw.optim.LAMB(p, lr=0.01),
    "Lion": lambda p: tw.optim.Lion(p, lr=0.003),
    "NAdam": lambda p: tw.optim.NAdam(p, lr=0.01),
    "RAdam": lambda p: tw.optim.RAdam(p, lr=0.01),
    "RMSprop": lambda p: tw.optim.RMSprop(p, lr=0.01, centered=True, momentum=0.5),
    "Rprop": lambda p: tw.optim.Rprop(p, lr=0.01),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name):
    def run(where=None, how=None, data=None):
        tw.manual_seed(1)
        model = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3))
        x, y = tw.randn(12, 5), tw.randn(12, 3)
        if where is not None:
            model.to_global(where, how)
            x, y = x.to_global(where, data), y.to_global(where, data)
        optimizer = OPTIMIZERS[name](model.parameters())
        for _ in range(5):
            optimizer.zero_grad()
            F.mse_loss(model(x), y).backward()
            optimizer.step()
        for param, state in optimizer.state.items():
            for value in state.values():
                if isinstance(value, tw.Tensor) and value.shape == param.shape and where is not None:
                    assert value.sbp == param.sbp
        return [p.detach().numpy() for p in model.parameters()]

    expected = run()
    for arguments in ((LINE, S(0), S(0)), (LINE, B, S(0)), (MESH, [S(0), B], [S(0), S(0)])):
        for a, b in zip(run(*arguments), expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_state_dicts_load_from_and_to_one_device():
    tw.manual_seed(0)
    model = nn.Linear(4, 8)
    spread = nn.Linear(4, 8).to_global(LINE, S(0))
    spread.load_state_dict(model.state_dict())
    np.testing.assert_array_equal(spread.weight.detach().numpy(), model.weight.detach().numpy())
    assert spread.weight.sbp == (S(0),) and isinstance(spread.weight, nn.Parameter)
    other = nn.Linear(4, 8)
    other.load_state_dict(spread.state_dict())
    np.testing.assert_array_equal(other.weight.detach().numpy(), model.weight.detach().numpy())
    spread.to_local()
    assert spread.weight.is_local
    np.testing.assert_array_equal(spread.weight.detach().numpy(), model.weight.detach().numpy())


def test_optimizer_state_loads_onto_another_placement():
    tw.manual_seed(0)
    model = nn.Linear(4, 8)
    optimizer = tw.optim.Adam(model.parameters())
    model(tw.randn(3, 4)).sum().backward()
    optimizer.step()
    spread = nn.Linear(4, 8).to_global(LINE, S(0))
    other = tw.optim.Adam(spread.parameters())
    other.load_state_dict(optimizer.state_dict())
    state = other.state[spread.weight]
    assert state["exp_avg"].sbp == (S(0),)
    np.testing.assert_array_equal(state["exp_avg"].numpy(), optimizer.state[model.weight]["exp_avg"].numpy())


def test_clipping_counts_each_element_once():
    weights = [tw.full((4, 4), 1.0), tw.full((3,), 2.0)]
    expected = np.sqrt(16 + 12)
    for how in (S(0), B):
        params = [nn.Parameter(tw.zeros(t.shape, placement=LINE, sbp=how)) for t in weights]
        for param, t in zip(params, weights, strict=True):
            param.grad = t.to_global(LINE, how)
        assert nn.utils.clip_grad_norm_(params, 1.0).item() == pytest.approx(expected)
        assert params[0].grad.numpy()[0, 0] == pytest.approx(1 / expected)
    mixed = [nn.Parameter(tw.zeros(2)), nn.Parameter(tw.zeros(2, placement=LINE, sbp=S(0)))]
    mixed[0].grad, mixed[1].grad = tw.full((2,), 3.0), tw.full((2,), 4.0, placement=LINE, sbp=S(0))
    assert nn.utils.clip_grad_norm_(mixed, 1.0).item() == pytest.approx(np.sqrt(50))
    assert nn.utils.clip_grad_norm_(mixed, 1.0, norm_type=float("inf")).item() == pytest.approx(4 / np.sqrt(50))
