"""GradScaler: scaling, skipped steps, growth and backoff, the order of calls, state."""

import math

import pytest
import thalweg as tw
from thalweg import nn, optim
from thalweg.amp import GradScaler


def make(**options):
    weight = nn.Parameter(tw.zeros(2))
    return weight, optim.SGD([weight], lr=1.0), GradScaler(**{"init_scale": 8.0, "growth_interval": 2, **options})


def test_a_scaled_step_is_the_plain_step():
    weight, optimizer, scaler = make()
    scaler.scale(weight.sum() * 3).backward()
    assert weight.grad.tolist() == [24.0, 24.0]
    scaler.unscale_(optimizer)
    assert weight.grad.tolist() == [3.0, 3.0]
    scaler.step(optimizer)
    scaler.update()
    assert weight.tolist() == [-3.0, -3.0]


@pytest.mark.parametrize("bad", [math.inf, -math.inf, math.nan])
def test_an_overflow_skips_the_step_and_shrinks_the_scale(bad):
    weight, optimizer, scaler = make()
    weight.grad = tw.tensor([1.0, bad])
    assert scaler.step(optimizer) is None
    scaler.update()
    assert weight.tolist() == [0.0, 0.0] and scaler.get_scale() == 4.0


def test_good_steps_in_a_row_grow_the_scale():
    weight, optimizer, scaler = make()
    for bad, scale in ((0.0, 8.0), (math.inf, 4.0), (0.0, 4.0), (0.0, 8.0), (0.0, 8.0), (0.0, 16.0)):
        weight.grad = tw.tensor([1.0, bad])
        scaler.step(optimizer)
        scaler.update()
        assert scaler.get_scale() == scale


def test_the_scale_stays_finite():
    weight, optimizer, scaler = make(init_scale=2.0**127, growth_interval=1)
    weight.grad = tw.zeros(2)
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() == 2.0**127


def test_one_optimizer_may_overflow_alone():
    weight, optimizer, scaler = make()
    other = nn.Parameter(tw.zeros(1))
    second = optim.SGD([other], lr=1.0)
    weight.grad, other.grad = tw.full((2,), math.inf), tw.full((1,), 8.0)
    scaler.step(optimizer)
    scaler.step(second)
    scaler.update()
    assert weight.tolist() == [0.0, 0.0] and other.item() == -1.0 and scaler.get_scale() == 4.0


def test_nested_outputs():
    a, (b, c) = make()[2].scale((tw.ones(1), [tw.full((1,), 2.0), tw.zeros(1)]))
    assert (a.item(), b.item(), c.item()) == (8.0, 16.0, 0.0)
    with pytest.raises(TypeError, match="tensor"):
        make()[2].scale(3.0)


def test_a_scale_can_be_set():
    scaler = make()[2]
    scaler.update(new_scale=32.0)
    assert scaler.get_scale() == 32.0
    scaler.update(new_scale=tw.tensor(64.0))
    assert scaler.get_scale() == 64.0


def test_disabled_passes_through():
    weight, optimizer, scaler = make(enabled=False)
    loss = weight.sum()
    assert scaler.scale(loss) is loss and scaler.get_scale() == 1.0 and scaler.state_dict() == {}
    loss.backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    assert weight.tolist() == [-1.0, -1.0]


def test_state_round_trip():
    weight, optimizer, scaler = make()
    weight.grad = tw.zeros(2)
    scaler.step(optimizer)
    scaler.update()
    other = GradScaler()
    other.load_state_dict(scaler.state_dict())
    assert other.state_dict() == scaler.state_dict() and other.state_dict()["_growth_tracker"] == 1
    with pytest.raises(ValueError, match="empty"):
        other.load_state_dict({})


def test_calls_out_of_order():
    weight, optimizer, scaler = make()
    with pytest.raises(ValueError, match="got none"):
        scaler.update()
    with pytest.raises(ValueError, match="without any"):
        scaler.step(optimizer)
    scaler.update(new_scale=8.0)
    weight.grad = tw.ones(2)
    scaler.unscale_(optimizer)
    with pytest.raises(ValueError, match="second"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(ValueError, match="after"):
        scaler.unscale_(optimizer)
    with pytest.raises(ValueError, match="second"):
        scaler.step(optimizer)
    with pytest.raises(ValueError, match="closure"):
        scaler.step(optimizer, closure=lambda: 0)


def test_bad_arguments():
    with pytest.raises(ValueError, match="growth_factor"):
        GradScaler(growth_factor=1.0)
    with pytest.raises(ValueError, match="backoff_factor"):
        GradScaler(backoff_factor=1.0)
    weight = nn.Parameter(tw.zeros(1, dtype=tw.float16))
    weight.grad = tw.ones(1, dtype=tw.float16)
    with pytest.raises(ValueError, match="float16"):
        GradScaler().unscale_(optim.SGD([weight]))
