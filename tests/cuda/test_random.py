"""Random numbers on CUDA are those of the CPU: bit for bit, or to rounding where a function is computed."""

import numpy as np
import pytest
import thalweg as tw
from thalweg.nn import functional as F


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "float64"])
def test_random_numbers_are_the_cpus(dtype):
    dtype = getattr(tw, dtype)

    def draws(device):
        tw.manual_seed(3)
        x = tw.rand(5, 7, dtype=dtype, device=device)
        y = tw.empty(4, 6, dtype=dtype, device=device).t().uniform_(-3, 2)
        normals = tw.randn(1001, dtype=dtype, device=device)
        others = [
            tw.empty(333, dtype=dtype, device=device).log_normal_(0.5, 0.75),
            tw.empty(333, dtype=dtype, device=device).exponential_(2.0),
            # As angles: near a pole of the tangent a rounded angle shows much.
            ((tw.empty(333, dtype=dtype, device=device).cauchy_(1.0, 2.0).cpu().double() - 1) / 2).atan(),
            tw.empty(333, dtype=dtype, device=device).geometric_(0.25),
        ]
        return x, y, [normals, *others]

    (x, y, z), (a, b, c) = draws("cpu"), draws("cuda")
    assert a.is_cuda and a.tolist() == x.tolist() and b.tolist() == y.tolist()
    tolerance = 2e-2 if dtype.itemsize == 2 else 1e-5
    for wanted, got in zip(z, c, strict=True):
        assert np.allclose(got.cpu().double(), wanted.double(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", ["int64", "int32", "int8", "uint8", "bool", "float32", "bfloat16"])
def test_random_whole_numbers_are_the_cpus(dtype):
    def draws(device):
        tw.manual_seed(3)
        high = 2 if dtype == "bool" else 100
        x = tw.randint(high // 2, high, (7, 143), dtype=getattr(tw, dtype), device=device)
        y = tw.empty(6, 5, dtype=getattr(tw, dtype), device=device).t().random_(0, high)
        return x.tolist(), y.tolist()

    assert draws("cuda") == draws("cpu")


def test_complex_random_numbers_are_the_cpus():
    def draws(device):
        tw.manual_seed(3)
        return tw.randn(5, 7, dtype=tw.complex64, device=device).cpu().numpy()

    assert np.allclose(draws("cuda"), draws("cpu"), atol=1e-5)


@pytest.mark.parametrize("count", [0, 1, 2, 1000, 1025])
def test_permutations(count):
    tw.manual_seed(3)
    first, second = tw.randperm(count, device="cuda"), tw.randperm(count, device="cuda")
    assert first.is_cuda and sorted(first.tolist()) == sorted(second.tolist()) == list(range(count))
    if count > 2:
        assert first.tolist() != second.tolist() and first.tolist() != list(range(count))
        tw.manual_seed(3)
        assert tw.randperm(count, device="cuda").tolist() == first.tolist()


def test_permutations_favour_no_order():
    tw.manual_seed(3)
    places = np.zeros((3, 3))
    for _ in range(600):
        places[range(3), tw.randperm(3, device="cuda").tolist()] += 1
    assert (np.abs(places - 200) < 50).all(), places  # some four standard deviations


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize(("shape", "samples"), [((1,), 1), ((5,), 3), ((4, 300), 100), ((3, 1000), 7)])
def test_multinomial_draws_what_the_cpu_draws(shape, samples, replacement):
    weights = tw.tensor(np.random.default_rng(1).uniform(0.1, 2, shape)).float()
    weights[..., 2::5] = 0
    for tensor in (weights, weights.to(tw.bfloat16), weights.flip(-1).t().contiguous().t()):

        def draw(device, tensor=tensor):
            tw.manual_seed(3)
            return tw.multinomial(tensor.to(device), samples, replacement=replacement).tolist()

        assert draw("cuda") == draw("cpu")


def test_multinomial_refuses_bad_weights():
    for weights in ([1.0, -1.0], [0.0, 0.0], [1.0, float("nan")], [1.0, float("inf")]):
        for replacement in (False, True):
            with pytest.raises(RuntimeError, match="weights must be finite and not negative"):
                tw.multinomial(tw.tensor(weights, device="cuda"), 1, replacement=replacement).cpu()
    with pytest.raises(RuntimeError, match="enough of them positive"):
        tw.multinomial(tw.tensor([1.0, 0.0, 0.0], device="cuda"), 2).cpu()


def test_dropout_keeps_what_the_cpu_keeps():
    def run(device):
        tw.manual_seed(5)
        x = tw.linspace(-2, 2, 407).reshape(37, 11).to(device).requires_grad_()
        y = F.dropout(x, 0.3)
        (y * y).sum().backward()
        return y.tolist(), x.grad.tolist()

    assert run("cuda") == run("cpu")
    assert F.dropout(tw.ones(3, 4).t().cuda(), 1.0).tolist() == [[0] * 3] * 4


def test_what_is_drawn_like_a_tensor_lies_beside_it():
    x = tw.ones(3, 4, device="cuda:1")
    for like in (tw.rand_like(x), tw.randn_like(x.t()), tw.randint_like(x, 5)):
        assert like.device == x.device
    assert not tw.rand_like(x, device="cpu").is_cuda
