"""Orders and scans on CUDA: rows that a block sorts and rows sorted by digits, ties, NaN, zeros of both signs."""

import numpy as np
import pytest
import thalweg as tw

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"]
SHAPES = [(1, 1), (7, 2), (300, 3), (5, 33), (3, 700), (2, 2048), (2, 2049), (1, 5003)]
NAN, INF = float("nan"), float("inf")


def make(shape, dtype="float32", seed=0, distinct=None):
    """Numbers with ties; floats with NaN, infinities and both zeros."""
    values = np.random.default_rng([seed, *shape]).integers(-50, 50, shape).astype("float64")
    if distinct:
        values = np.random.default_rng([seed, *shape]).permutation(values.size).reshape(shape) * 1.0
    elif dtype.startswith(("float", "bf")):
        special = np.random.default_rng([seed + 1, *shape]).integers(0, 12, shape)
        for number, value in enumerate((NAN, -NAN, INF, -INF, 0.0, -0.0)):
            values[special == number] = value
    if dtype in ("bool", "uint8"):
        values = np.abs(values)
    return tw.tensor(values % 2 if dtype == "bool" else values).to(getattr(tw, dtype))


def same(function, *tensors, tolerance=0.0):
    expected, got = function(*tensors), function(*[t.cuda() for t in tensors])
    if isinstance(expected, tw.Tensor):
        expected, got = (expected,), (got,)
    for e, g in zip(expected, got, strict=True):
        assert g.is_cuda and e.dtype == g.dtype and e.shape == g.shape
        e, g = e.double().numpy(), g.cpu().double().numpy()
        np.testing.assert_allclose(g, e, rtol=tolerance, atol=tolerance)
        np.testing.assert_array_equal(np.signbit(g[g == 0]), np.signbit(e[e == 0]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_sort(dtype):
    for shape in SHAPES if dtype in ("bfloat16", "float32", "int64") else SHAPES[2:6]:
        x = make(shape, dtype)
        same(lambda x: x.sort(1), x)
        same(lambda x: x.sort(1, descending=True, stable=True), x)
    same(lambda x: x.t().sort(0), make((4, 3000), dtype))
    same(lambda x: x.transpose(0, 1).sort(-1, descending=True), make((40, 3, 5), dtype))
    same(lambda x: x.sort(), make((0, 4), dtype))
    same(lambda x: x.sort(), make((), dtype))


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "bfloat16", "float32", "float64"])
def test_front_of_long_rows(dtype):
    """Selected digit by digit; equal elements in the order of their places, NaN first among the largest."""
    few = tw.tensor(np.random.default_rng(0).integers(0, 3, (2, 5000))).to(getattr(tw, dtype))
    for x in (few, make((3, 4100), dtype), make((2100, 2), dtype).t()):
        if x.dtype.is_floating_point:
            x[0, 77], x[1, 4] = float("nan"), -float("inf")
        for k in (1, 7, 2048, 2049):
            for largest in (True, False):
                values, places = x.topk(min(k, x.shape[1]), 1, largest)
                got = x.cuda().topk(min(k, x.shape[1]), 1, largest)
                assert (got[1].cpu() == places).all()
                np.testing.assert_array_equal(got[0].cpu().double().numpy(), values.double().numpy())


@pytest.mark.parametrize("dtype", ["int32", "bfloat16", "float32", "float64"])
def test_selections(dtype):
    for shape in SHAPES:
        x, n = make(shape, dtype), shape[1]
        for k in {0, 1, n // 2, n}:
            same(lambda x, k=k: x.topk(k, 1), x)
            same(lambda x, k=k: x.topk(k, 1, largest=False), x)
        same(lambda x, k=n // 2 + 1: x.kthvalue(k, 1), x)
        same(lambda x: x.median(1), x)
        same(lambda x: x.median(1, keepdim=True), x)
        same(lambda x: x.nanmedian(1), x)
        same(lambda x: x.mode(1), x)
    same(lambda x: x.median(1), make((3, 50), dtype, distinct=True))
    same(lambda x: x.mode(0), make((3, 50, 2), dtype))
    same(lambda x: x.mode(-1, keepdim=True), make((3, 50, 2), dtype).transpose(1, 2))
    only = tw.full((2, 5), NAN).to(getattr(tw, dtype)) if dtype != "int32" else tw.ones(2, 5).int()
    for function in (lambda x: x.nanmedian(1), lambda x: x.mode(1), lambda x: x.median(1)):
        same(function, only)


@pytest.mark.parametrize("dtype", ["bool", "int64", "float32"])
def test_unique(dtype):
    for shape in ((0,), (1,), (50,), (3000,)):
        x = make(shape, dtype)
        same(lambda x: tw.unique(x, return_inverse=True, return_counts=True), x)
        same(lambda x: tw.unique_consecutive(x, return_inverse=True, return_counts=True), x)
    rows = make((2500, 3), dtype) > 20 if dtype == "bool" else make((2500, 3), dtype) % 3
    same(lambda x: tw.unique(x, dim=0, return_inverse=True, return_counts=True), rows)
    same(lambda x: tw.unique(x, dim=1, return_inverse=True), rows[:4].t())
    same(lambda x: tw.unique_consecutive(x, dim=0, return_counts=True), rows)


def test_counts():
    x = tw.tensor(np.random.default_rng(0).integers(0, 30, 3000))
    weights = make((3000,), distinct=True)
    same(tw.bincount, x)
    same(tw.bincount, x[:0])
    same(lambda x: tw.bincount(x, minlength=100), x)
    same(lambda x, w: tw.bincount(x, w), x, weights, tolerance=1e-6)
    same(lambda x, w: tw.bincount(x, w), x, weights.double())
    for wrong in ([3, -2, -5], [1 << 41]):
        with pytest.raises(Exception) as expected:
            tw.bincount(tw.tensor(wrong))
        with pytest.raises(expected.type) as got:
            tw.bincount(tw.tensor(wrong).cuda())
        assert str(got.value) == str(expected.value)
    numbers = make((3000,), distinct=True) / 100
    same(lambda x: tw.histc(x, 7), numbers)
    same(lambda x: tw.histc(x, 9, 3, 11), numbers)
    same(lambda x: tw.histc(x, 4, 0, 10), tw.tensor([NAN, 1.0, 10.0, 11.0, -1.0]))
    same(lambda x: tw.histc(x, 5), tw.ones(3))


def test_searchsorted():
    for dtype in ("int32", "bfloat16", "float32", "float64"):
        sequence, values = make((3, 40), dtype).sort(1).values, make((3, 9), dtype, 1)
        for right in (False, True):
            same(lambda s, v, r=right: tw.searchsorted(s, v, right=r), sequence, values)
            same(lambda s, v, r=right: tw.bucketize(v, s[0], right=r, out_int32=True), sequence, values)
    x = make((3, 40), distinct=True)
    same(lambda x, v: tw.searchsorted(x, v, sorter=x.argsort(1)), x, make((3, 9)))
    with pytest.raises(IndexError, match="sorter must hold indices in"):
        tw.searchsorted(x[0].cuda(), x[0].cuda(), sorter=(x[0] * 0 + 40).long().cuda())


SCANS = {
    "cumsum": (lambda x, d: x.cumsum(d)),
    "cumprod": (lambda x, d: x.cumprod(d)),
    "cummax": (lambda x, d: x.cummax(d)),
    "cummin": (lambda x, d: x.cummin(d)),
    "logcumsumexp": (lambda x, d: x.logcumsumexp(d)),
}


@pytest.mark.parametrize("name", SCANS)
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "bfloat16", "float32", "float64"])
def test_scans(name, dtype):
    scan = SCANS[name]
    if name == "logcumsumexp" and not dtype.startswith(("float", "bf")):
        return
    tolerance = {"float16": 2e-3, "bfloat16": 1e-2, "float32": 1e-5, "float64": 1e-12}.get(dtype, 0.0)
    for shape, dim in (((6, 5), 1), ((6, 5), 0), ((3, 1000), 1), ((2, 2500), 1), ((700, 3), 0), ((1500, 2), 0)):
        exact = name in ("cummax", "cummin")
        x = make(shape, dtype) if exact else make(shape, dtype, distinct=True)
        if name == "cumprod" and dtype.startswith(("float", "bf")):
            x = (1 + x.float() % 7 / 1000 - 0.003).to(x.dtype)
        elif dtype.startswith(("float", "bf")) and not exact:
            x = (x.float() % 9 / 8 - 0.3).to(x.dtype)
        same(lambda x, d=dim: scan(x, d), x, tolerance=0.0 if exact else tolerance)
    same(lambda x: scan(x, 0), make((), dtype))
    same(lambda x: scan(x, 1), make((3, 0), dtype))


def test_scans_of_special_numbers():
    x = tw.tensor([[-INF, -INF, 1.0, INF, -INF, 2.0], [NAN, 1.0, 2.0, NAN, 3.0, 0.0], [1.0, 0.0, 3.0, 0.0, 2.0, INF]])
    for scan in SCANS.values():
        same(lambda x, s=scan: s(x, 1), x, tolerance=1e-6)


@pytest.mark.parametrize("name", SCANS)
def test_gradients_of_scans(name):
    def gradient(x):
        x = x.detach().requires_grad_()
        y = SCANS[name](x, 1)
        y = y if isinstance(y, tw.Tensor) else y[0]
        (y * tw.arange(y.numel(), device=x.device).reshape(y.shape) / y.numel()).sum().backward()
        return x.grad

    for shape in ((3, 5), (2, 1200)):
        x = make(shape, distinct=True) % 11 / 10 + 0.3
        x[0, 2] = 0
        same(gradient, x, tolerance=2e-4)
