"""GradScaler and clipping on global gradients: what one device does, wherever an overflow lies."""

import math

import numpy as np
import pytest
import thalweg as tw
from thalweg import nn

S, B = tw.sbp.split, tw.sbp.broadcast
ONE = tw.placement("cpu", [0])
PAIR = tw.placement("cpu", [1, 2])
LINE = tw.placement("cpu", [0, 1, 2, 3])
MESH = tw.placement("cpu", [[0, 1], [2, 3]])
COMPILE = pytest.mark.parametrize("compile", [lambda step: step, tw.jit], ids=["eager", "program"])
# Where the two weights lie; None: on this process alone.
PLACES = {
    "split": [(LINE, S(0)), (LINE, S(0))],
    "split and whole": [(LINE, S(0)), (LINE, B)],
    "mesh": [(MESH, [S(0), S(1)]), (MESH, [B, S(0)])],
    "stages": [(ONE, B), (PAIR, S(0))],
    "split and local": [(LINE, S(0)), None],
}
OPTIMIZERS = {
    "SGD": lambda params: tw.optim.SGD(params, 0.1, momentum=0.9),
    "AdamW": lambda params: tw.optim.AdamW(params, 0.1),
}


def put(array, place):
    return tw.tensor(array) if place is None else tw.tensor(array, placement=place[0], sbp=place[1])


def train(places, make, compile, clip=False, separate=False):
    """Scale, step counts and weights after each step; in some, the last element of one gradient overflows."""
    starts = [np.ones((6, 4), np.float32), np.full((5, 3), 2, np.float32)]
    params = [nn.Parameter(put(start, place)) for start, place in zip(starts, places, strict=True)]
    optimizers = [make([param]) for param in params] if separate else [make(params)]
    scaler = tw.amp.GradScaler(init_scale=64.0, growth_interval=2)

    def step(*slopes):
        for optimizer in optimizers:
            optimizer.zero_grad()
        for param, slope in zip(params, slopes, strict=True):
            scaler.scale((param * slope).sum()).backward()
        for optimizer in optimizers:
            if clip:
                scaler.unscale_(optimizer)
                nn.utils.clip_grad_norm_([p for group in optimizer.param_groups for p in group["params"]], 0.5)
            scaler.step(optimizer)
        scaler.update()

    run, history = compile(step), []
    for i in range(7):
        slopes = [np.full(start.shape, 0.1 + 0.1 * i, np.float32) for start in starts]
        if i in (0, 3, 4):
            slopes[i % 2][-1, -1] = math.inf if i else math.nan
        run(*(put(slope, place) for slope, place in zip(slopes, places, strict=True)))
        counts = [optimizer.state[p].get("step") for optimizer in optimizers for p in optimizer.state]
        history.append((scaler.state_dict(), counts, [param.detach().numpy().copy() for param in params]))
    return history


def same(found, expected):
    for (scale, counts, weights), (wanted_scale, wanted_counts, wanted) in zip(found, expected, strict=True):
        assert (scale, counts) == (wanted_scale, wanted_counts)
        for one, other in zip(weights, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6)


@COMPILE
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("place", PLACES)
def test_all_devices_skip_or_step_alike(place, optimizer, compile):
    make = OPTIMIZERS[optimizer]
    same(train(PLACES[place], make, compile), train([None, None], make, lambda step: step))


@COMPILE
@pytest.mark.parametrize("place", ["split and whole", "mesh", "stages"])
def test_with_clipping_in_between(place, compile):
    make = OPTIMIZERS["AdamW"]
    same(train(PLACES[place], make, compile, clip=True), train([None, None], make, lambda step: step, clip=True))


@COMPILE
@pytest.mark.parametrize("place", ["split and whole", "stages"])
def test_one_of_several_optimizers_skips_alone(place, compile):
    make = OPTIMIZERS["SGD"]
    same(train(PLACES[place], make, compile, separate=True), train([None] * 2, make, lambda step: step, separate=True))


def test_unscaled_gradients_lie_as_before():
    for how in (S(0), B, S(1)):
        weight = nn.Parameter(tw.ones(6, 4, placement=LINE, sbp=how))
        scaler = tw.amp.GradScaler(init_scale=8.0)
        scaler.scale((weight * 3).sum()).backward()
        scaler.unscale_(tw.optim.SGD([weight], 0.1))
        assert weight.grad.sbp == (how,) and (weight.grad.numpy() == 3).all()


@COMPILE
@pytest.mark.parametrize("norm_type", [1.0, 2.0, 3.0, math.inf, -math.inf])
@pytest.mark.parametrize("place", ["split and whole", "mesh", "stages"])
def test_norms_of_split_gradients(place, norm_type, compile):
    rng = np.random.default_rng(0)
    slopes = [rng.uniform(0.5, 2, (6, 4)).astype(np.float32), rng.uniform(0.5, 2, (1, 3)).astype(np.float32)]

    def clipped(places, compile):
        params = [nn.Parameter(put(np.zeros_like(slope), place)) for slope, place in zip(slopes, places, strict=True)]

        def step(*slopes):
            for param, slope in zip(params, slopes, strict=True):
                param.grad = None
                (param * slope).sum().backward()
            return nn.utils.clip_grad_norm_(params, 0.7, norm_type)

        norm = compile(step)(*(put(slope, place) for slope, place in zip(slopes, places, strict=True)))
        return [norm.item(), *(param.grad.numpy() for param in params)]

    for one, other in zip(clipped(PLACES[place], compile), clipped([None, None], lambda step: step), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)
