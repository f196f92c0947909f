"""The paths of CUDA kernels that small samples do not reach: packs and their tails, broadcasting, slices, long rows."""

from functools import partial

import numpy as np
import pytest
import thalweg as tw
from against_cpu import DTYPES, TOLERANCE, make, same
from thalweg.nn import functional as F


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [1, 7, 8, 129, 1000, 4099])
def test_packs_and_tails(dtype, count):
    same(lambda a, b: a * b + a, make(count, dtype), make(count, dtype, 1), tolerance=TOLERANCE[dtype])


def test_broadcasts():
    wide = make((6, 5, 16))
    for other in [(16,), (5, 1), (6, 1, 1), (1, 5, 16), (1,), (6, 5, 1)]:
        same(lambda a, b: a * b, wide, make(other, seed=1))
    same(lambda a, b: a + b, make((3, 1, 4)), make((2, 1), seed=1))


def test_odd_places_in_memory():
    x, y = make((9, 33)), make((9, 33), seed=1)
    same(lambda a, b: a[:, 1:] * b[:, :-1], x, y)  # addresses that are no multiple of 16
    same(lambda a, b: a.t() + b.t(), x, y)
    same(lambda a, b: a.t() + b.reshape(33, 9), x, y)
    same(lambda a, b: a[::2] * b[::2], x, y)
    same(lambda a, b: a.expand(4, 9, 33) * b, x, y)
    same(lambda a: a.t().contiguous(), x)
    out = tw.zeros(9, 34, device="cuda")
    out[:, 1:].copy_(x)
    assert out.cpu()[:, 1:].tolist() == x.tolist() and out[:, 0].tolist() == [0] * 9


@pytest.mark.parametrize("source", ["bool", "uint8", "int8", "int16", "int32", "int64", *DTYPES, "float64"])
def test_casts(source):
    x = (make((5, 13)) * 30).to(getattr(tw, source))
    for target in ["bool", "int8", "int32", "int64", *DTYPES, "float64"]:
        for tensor in (x, x[:, ::2], x.t()):
            expected = tensor.to(getattr(tw, target))
            assert tensor.cuda().to(getattr(tw, target)).tolist() == expected.tolist(), (source, target)


REDUCTIONS = {
    "sum": lambda x, dim: x.sum(dim),
    "mean": lambda x, dim: x.mean(dim),
    "amax": lambda x, dim: x.amax(dim),
    "amin": lambda x, dim: x.amin(dim),
}


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize(
    ("shape", "dim"),
    [
        ((40000,), 0),  # slices of a row
        ((3, 2000), 1),  # a block a row
        ((3, 2001), 1),  # rows that no pack fits
        ((70, 40), 1),  # a warp a row
        ((3000, 8), 0),  # slices of columns, in packs
        ((300, 37), 0),  # columns that no pack fits
        ((5, 6, 7), (0, 2)),
        ((5, 6, 8), 1),
        ((4, 1, 5), (0, 1, 2)),
    ],
)
def test_reductions(name, shape, dim):
    function = REDUCTIONS[name]
    for dtype in ("float32", "bfloat16"):
        same(lambda x: function(x, dim), make(shape, dtype).detach(), tolerance=TOLERANCE[dtype])
    x = make(shape)
    if x.ndim > 1:
        turned = x.transpose(0, -1)
        assert np.allclose(function(turned.cuda(), dim).cpu(), function(turned, dim), atol=1e-3, rtol=1e-5)


def test_reductions_of_nothing_and_of_integers():
    empty = tw.zeros(3, 0, device="cuda")
    assert empty.sum(1).tolist() == [0, 0, 0] and empty.sum().item() == 0
    x = tw.arange(100, dtype=tw.int32).reshape(4, 25)
    assert x.cuda().sum(0).tolist() == x.sum(0).tolist() and x.cuda().sum().dtype == tw.int64
    assert (x.cuda() > 50).any(1).tolist() == (x > 50).any(1).tolist()
    assert (x.cuda() >= 0).all().item() is True
    assert tw.tensor([1.0, float("nan"), 3.0]).cuda().amax().isnan().item()


@pytest.mark.parametrize("shape", [(4, 7), (3, 1024), (2, 1500), (2, 9000)])
def test_rows(shape):
    x = make(shape)
    same(lambda x: F.softmax(x, -1) * x, x)
    same(lambda x: F.log_softmax(x, -1) * x, x)
    weight, bias = make(shape[-1:], seed=1), make(shape[-1:], seed=2)
    same(lambda x, w, b: F.layer_norm(x, shape[-1:], w, b), x, weight, bias, tolerance=1e-4)
    same(lambda x, w: F.rms_norm(x, shape[-1:], w), x, weight, tolerance=1e-4)
    same(lambda x: F.layer_norm(x.to(tw.bfloat16), shape[-1:]), x, tolerance=4e-2)


def test_softmax_of_other_dims_and_masked_rows():
    same(lambda x: F.softmax(x, 1) * x, make((3, 5, 4)))
    masked = make((3, 6))
    masked[:, 2:] = -float("inf")
    assert np.allclose(F.softmax(masked.cuda(), 1).cpu(), F.softmax(masked, 1))


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_cross_entropy(reduction):
    x, target = make((9, 50)), tw.tensor(np.random.default_rng(3).integers(0, 50, 9))
    target[4] = -100
    weight = make((50,), seed=4).abs() + 0.1
    for smoothing in (0.0, 0.1):
        loss = partial(F.cross_entropy, reduction=reduction, label_smoothing=smoothing)
        same(lambda x, loss=loss: loss(x, target.to(x.device)), x)
        same(lambda x, loss=loss: loss(x, target.to(x.device), weight.to(x.device)), x)
    with pytest.raises(IndexError, match=r"target must be a class in \[0, 50\)"):
        F.cross_entropy(x.cuda(), (target + 60).cuda(), weight.cuda()).cpu()


def test_embedding():
    table, indices = make((11, 8)), tw.tensor([[0, 3, 3], [10, 0, 5]])
    same(lambda t: F.embedding(indices.to(t.device), t) * 2, table)
    same(lambda t: F.embedding(indices.to(t.device), t, padding_idx=3), make((11, 5)))
    same(lambda t: F.embedding(indices.to(t.device), t, scale_grad_by_freq=True), table.to(tw.bfloat16), tolerance=1e-2)
    with pytest.raises(IndexError, match="out of bounds for a table of 11 rows"):
        F.embedding(tw.tensor([11], device="cuda"), table.cuda()).cpu()


@pytest.mark.parametrize(
    "shapes", [((5, 7), (7, 3)), ((2, 5, 7), (7, 3)), ((2, 5, 7), (2, 7, 3)), ((2, 1, 4, 3), (3, 3, 5))]
)
def test_products(shapes):
    for dtype in ("float32", "bfloat16"):
        same(tw.matmul, make(shapes[0], dtype), make(shapes[1], dtype, 1), tolerance=TOLERANCE[dtype])
    a, b = make((6, 4)), make((6, 5), seed=1)
    same(lambda a, b: a.t() @ b, a, b)
    same(lambda a, b: a[::2, ::2].t() @ b[::2], a, b)
    same(lambda x, w, b: F.linear(x, w, b), make((2, 3, 4)), make((5, 4), seed=1), make((5,), seed=2))
    same(lambda c, a, b: tw.addmm(c, a.t(), b, beta=0.5, alpha=2), make((5,), seed=3), a, b)


@pytest.mark.parametrize("causal", [False, True])
def test_attention(causal):
    q, k, v = make((2, 4, 70, 8)), make((2, 2, 70, 8), seed=1), make((2, 2, 70, 6), seed=2)
    same(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=True), q, k, v)
    if not causal:
        mask = make((70, 70), seed=3) > 0
        same(
            lambda q, k, v: F.scaled_dot_product_attention(
                q, k, v, attn_mask=mask.to(q.device), enable_gqa=True
            ),
            q, k, v,
        )  # fmt: skip


@pytest.mark.parametrize("make_optimizer", [tw.optim.AdamW, lambda p: tw.optim.SGD(p, lr=0.1, momentum=0.9)])
def test_optimizers(make_optimizer):
    def train(device):
        tw.manual_seed(0)
        model = tw.nn.Sequential(tw.nn.Linear(6, 9), tw.nn.GELU(), tw.nn.Linear(9, 3)).to(device)
        optimizer = make_optimizer(model.parameters())
        x = make((12, 6)).to(device)
        losses = []
        for _ in range(3):
            loss = model(x).square().mean()
            optimizer.zero_grad()
            loss.backward()
            norm = tw.nn.utils.clip_grad_norm_(model.parameters(), 0.05)
            optimizer.step()
            losses += [loss.item(), norm.item()]
        return losses, [p.detach().cpu().numpy() for p in model.parameters()]

    (expected, values), (got, there) = train("cpu"), train("cuda")
    assert np.allclose(expected, got, rtol=1e-4)
    for e, g in zip(values, there, strict=True):
        assert np.allclose(e, g, rtol=1e-4, atol=1e-5)


def test_vector_norms():
    for order in (0, 1, 2, 3, float("inf"), -float("inf")):
        same(lambda x, order=order: tw.linalg.vector_norm(x, order, 1), make((3, 5)).abs() + 0.5)


def test_places_of_extremes():
    x = (make((5, 300)) * 4).round()  # with ties
    x[2, 7] = x[2, 100] = float("nan")
    for tensor in (x, x.t(), x[:, ::3], make((2, 3000), seed=2), tw.arange(12, dtype=tw.int32).reshape(3, 4) % 5):
        for dim in (0, 1):
            for name in ("max", "min"):
                expected, got = getattr(tensor, name)(dim), getattr(tensor.cuda(), name)(dim)
                assert got.indices.tolist() == expected.indices.tolist()
                assert str(got.values.tolist()) == str(expected.values.tolist())
        assert tensor.cuda().argmax().item() == tensor.argmax().item()
        assert tensor.cuda().argmin(1).tolist() == tensor.argmin(1).tolist()


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_numbers_in_three_operands(dtype):
    def parts(seed):
        return np.random.default_rng(seed).uniform(-2, 2, (2, 6, 5))

    a, b, c = (tw.tensor(x + 1j * y).to(getattr(tw, dtype)) for x, y in (parts(0), parts(1), parts(2)))
    for function in (
        lambda a, b, c: tw.addcmul(a, b, c, value=2 - 3j),
        lambda a, b, c: tw.addcdiv(a, b, c, value=0.5j),
        lambda a, b, c: tw.lerp(a, b, c),
        lambda a, b, c: tw.lerp(a, b, 0.25 - 1j),
        lambda a, b, c: F.fold(F.unfold(a[None, None], 2), (6, 5), 2) + b,
    ):
        expected, got = function(a, b, c), function(a.cuda(), b.cuda(), c.cuda())
        assert got.is_cuda and got.dtype == expected.dtype
        np.testing.assert_allclose(got.cpu().numpy(), expected.numpy(), rtol=1e-5, atol=1e-6)


def test_weights_of_lerp():
    same(lambda a, b: tw.lerp(a, b, 0.25), make(9, "bfloat16"), make(9, "bfloat16", 1), tolerance=2e-2)
    # A number is not rounded to the tensors' dtype: 0.4 would be 0.40039.
    start = tw.full((9,), -2.0, dtype=tw.bfloat16, device="cuda")
    assert tw.lerp(start, start + 5, 0.4).abs().max().item() < 1e-6
