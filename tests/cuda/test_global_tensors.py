"""Global tensors on CUDA devices: what the same placement of CPUs gives, in every layout."""

import itertools

import numpy as np
import pytest
import thalweg as tw
from functions_of_two import FUNCTIONS, pair
from parallel_steps import MAX, B, P, S, cuda, lies_on

pytestmark = pytest.mark.usefixtures("four_devices")


def data(*shape, dtype="float32"):
    return tw.tensor(np.random.default_rng(0).integers(-9, 9, shape)).to(getattr(tw, dtype))


def test_creation():
    where = cuda([0, 1, 2])
    assert str(where) == 'placement(type="cuda", ranks=[0, 1, 2])'
    for x, values in [
        (tw.tensor([1.0, 2.0, 3.0, 4.0], placement=where, sbp=S(0)), [1, 2, 3, 4]),
        (tw.arange(4, placement=where, sbp=S(0)), [0, 1, 2, 3]),
        (tw.zeros(4, placement=where, sbp=B), [0, 0, 0, 0]),
        (tw.full((4,), 7.0, placement=where, sbp=P), [7, 7, 7, 7]),
        (tw.ones_like(tw.zeros(4, placement=where, sbp=S(0))), [1, 1, 1, 1]),
    ]:
        assert x.placement == where and x.is_cuda and x.device == tw.device("cuda") and lies_on(x, [0, 1, 2])
        assert x.tolist() == values and x.numpy().tolist() == values
    x = tw.arange(4, placement=where, sbp=S(0))
    assert [part.tolist() for part in x.to_local()] == [[0, 1], [2], [3]]
    assert x[1].item() == 1 and "device" not in repr(x.placement)


def test_tensors_come_from_anywhere_and_go_back():
    where = cuda([2, 0])
    x = data(4, 3)
    for given in (x, x.cuda(), x.cuda(3)):
        spread = given.to_global(where, S(0))
        assert lies_on(spread, [2, 0]) and (spread.numpy() == x.numpy()).all()
    parts = tw.local_to_global([tw.ones(2, 2), tw.zeros(1, 2).cuda()], where, S(0))
    assert lies_on(parts, [2, 0]) and parts.tolist() == [[1, 1], [1, 1], [0, 0]]
    on_cpu = spread.cpu()
    assert on_cpu.placement == tw.placement("cpu", [2, 0]) and on_cpu.sbp == (S(0),) and not on_cpu.is_cuda
    assert on_cpu.cuda().placement == where and spread.to("cuda") is spread
    back = spread.to_global(tw.placement("cpu", [1, 3]), B)
    assert (back.to_local()[1].numpy() == x.numpy()).all()
    whole = tw.ones(2, device="cuda").to_global(tw.placement("cpu", [0, 1]), S(0))
    assert whole.tolist() == [1, 1] and not whole.is_cuda


def test_gradients_come_back_to_where_a_tensor_lay():
    x = tw.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = x.to_global(cuda([0, 1]), S(0))
    (y * y).sum().backward()
    assert x.grad.device == tw.device("cpu") and x.grad.tolist() == [[2, 4], [6, 8]]
    parts = [tw.ones(1, 2, requires_grad=True), tw.ones(1, 2, device="cuda", requires_grad=True)]
    (tw.local_to_global(parts, cuda([0, 1]), S(0)) * 3).sum().backward()
    assert [part.grad.tolist() for part in parts] == [[[3, 3]], [[3, 3]]] and parts[1].grad.get_device() == 0
    model = tw.nn.Linear(2, 2).to_global(cuda([0, 1]), B)
    model(y.detach()).sum().backward()
    assert model.weight.grad.sbp == (B,) and lies_on(model.weight.grad, [0, 1])
    z = y.detach().requires_grad_()
    sum(part.to("cuda:0").sum() for part in z.to_local()).backward()
    assert z.grad.tolist() == [[1, 1], [1, 1]] and z.grad.is_cuda


LINES = [[0, 1], [0, 1, 2], [3, 1], [2]]


def layouts(count):
    return [
        S(0),
        S(1),
        S(0, unit=2),
        S(0, sizes=(5, 0, 2)[:count] if count == 3 else (7,) + (0,) * (count - 1)),
        B,
        P,
        MAX,
    ]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64", "bool", "int16", "complex64"])
def test_boxing(dtype):
    x = data(7, 5, dtype=dtype)
    wanted = x.to(tw.complex64 if dtype == "complex64" else tw.float64).numpy()

    def is_same(found):
        return (found.cpu().to(tw.complex64 if dtype == "complex64" else tw.float64).numpy() == wanted).all()

    for from_ranks, to_ranks in itertools.product(LINES, LINES[:3]):
        for a, b in itertools.product(layouts(len(from_ranks)), layouts(len(to_ranks))):
            if MAX in (a, b) and dtype == "complex64" or P in (a, b) and dtype in ("bool",):
                continue
            laid = x.to_global(cuda(from_ranks), a)
            there = laid.to_global(cuda(to_ranks), b)
            assert there.sbp == (b,) and lies_on(there, to_ranks)
            assert is_same(there), (from_ranks, a, to_ranks, b)


def test_boxing_on_two_axes():
    mesh = cuda([[0, 1], [2, 3]])
    x = data(6, 5)
    ways = [S(0), S(1), B, P]
    for a, b in itertools.product(itertools.product(ways, ways), repeat=2):
        found = x.to_global(mesh, list(a)).to_global(sbp=list(b))
        assert (found.numpy() == x.numpy()).all(), (a, b)


def test_sums_are_those_of_all_devices():
    parts = [tw.full((3,), float(10**k), device=f"cuda:{k}") for k in range(4)]
    x = tw.local_to_global(parts, cuda([0, 1, 2, 3]), P)
    assert x.tolist() == [1111.0] * 3
    assert x.to_global(sbp=S(0)).tolist() == [1111.0] * 3
    assert x.to_global(cuda([3]), B).tolist() == [1111.0] * 3
    halves = tw.local_to_global([part.bfloat16() for part in parts], cuda([0, 1, 2, 3]), P)
    assert halves.to_global(cuda([1, 0]), B).tolist() == [1112.0] * 3  # rounded once


PLACES = [
    ([0, 1, 2], (S(0),)), ([0, 1], (S(1),)), ([1, 0, 3], (P,)), ([0, 1, 2], (S(0, sizes=(5, 0, 1)),)),
    ([[0, 1], [2, 3]], (S(0), S(1))), ([[0, 1], [2, 3]], (P, S(0))),
]  # fmt: skip


@pytest.mark.parametrize("ranks, how", PLACES, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_gradients(name, ranks, how):
    function, where = FUNCTIONS[name], cuda(ranks)
    local = [t.requires_grad_() for t in pair()]
    expected = function(*local)
    spread = [t.detach().to_global(where, how).requires_grad_() for t in local]
    found = function(*spread)
    assert found.is_cuda and found.placement == where and found.shape == expected.shape
    np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), rtol=2e-5, atol=2e-6)
    weights = tw.rand(expected.shape)
    (expected * weights).sum().backward()
    (found * weights.to_global(where, [B] * where.ndim)).sum().backward()
    for a, b in zip(local, spread, strict=True):
        assert (a.grad is None) == (b.grad is None)
        if a.grad is not None:
            assert b.grad.sbp == tuple(B if s == P else s for s in how) and b.grad.is_cuda
            np.testing.assert_allclose(b.grad.numpy(), a.grad.numpy(), rtol=2e-5, atol=2e-6)


def test_writing_in_place():
    x = data(6, 4).to_global(cuda([0, 1]), S(0))
    x[:, 1:3] = 7.0
    x.view(6, 2, 2).add_(1)
    assert x[:, 1].tolist() == [8] * 6 and x.sbp == (S(0),)
    x.t().zero_()
    assert x.sum().item() == 0


DRAWS = {
    "uniform": lambda **where: tw.rand(5, 7, **where),
    "double": lambda **where: tw.rand(5, 7, dtype=tw.float64, **where),
    "half": lambda **where: tw.rand(5, 7, dtype=tw.bfloat16, **where),
    "whole": lambda **where: tw.randint(0, 1000, (5, 7), **where),
    "normal": lambda **where: tw.randn(5, 7, **where),
    "complex": lambda **where: tw.randn(5, 7, dtype=tw.complex64, **where),
    "dropout": lambda **where: tw.nn.functional.dropout(tw.ones(5, 7, **where), 0.4),
}


@pytest.mark.parametrize("ranks, how", [PLACES[0], PLACES[1], PLACES[4]], ids=str)
@pytest.mark.parametrize("name", DRAWS)
def test_random_numbers_are_those_of_one_device(name, ranks, how):
    tw.manual_seed(3)
    expected = DRAWS[name]()
    tw.manual_seed(3)
    found = DRAWS[name](placement=cuda(ranks), sbp=how)
    assert found.sbp == how and found.is_cuda
    if name in ("normal", "complex"):
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-5, atol=1e-6)
    else:
        assert found.cpu().double().tolist() == expected.double().tolist()


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("ranks, how", [*PLACES[:2], ([[0, 1], [2, 3]], (S(0), S(0)))], ids=str)
def test_indices_drawn_of_weights_are_those_of_one_device(ranks, how, replacement):
    weights = data(7, 40).abs() + 1
    for given, samples in ((weights, 6), (weights[0], 3)):
        layout = how if given.ndim == 2 else [B] * len(how)
        tw.manual_seed(3)
        expected = tw.multinomial(given, samples, replacement)
        tw.manual_seed(3)
        found = tw.multinomial(given.to_global(cuda(ranks), layout), samples, replacement)
        assert found.is_cuda and found.tolist() == expected.tolist()


def test_errors():
    where = cuda([0, 1])
    x = tw.ones(2, 2).to_global(where, S(0))
    with pytest.raises(tw.PlacementError, match=r"add: .* on cuda\[0, 1\].* on cpu\[0, 1\]"):
        x + tw.ones(2, 2).to_global(tw.placement("cpu", [0, 1]), S(0))
    with pytest.raises(tw.PlacementError, match="a local tensor of shape"):
        x + tw.ones(2, 2, device="cuda")
    with pytest.raises(tw.PlacementError, match=r"cuda\[4\] names rank 4, but there are 4 ranks"):
        tw.ones(2, placement=cuda([4]), sbp=B)
    with pytest.raises(ValueError, match="placement: cpu or cuda is wanted, got 'tpu'"):
        tw.placement("tpu", [0])
    tw.env.init(devices_per_process=6)
    with pytest.raises(tw.PlacementError, match="rank 5 has no GPU: this process owns 6 ranks and sees 4 GPUs"):
        tw.ones(2, placement=cuda([5]), sbp=B)
