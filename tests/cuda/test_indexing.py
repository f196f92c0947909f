"""Reading and writing at indices on CUDA: places that repeat, long runs of one, masks, gaps, errors; bit for bit where
the CPU adds in the same order."""

import numpy as np
import pytest
import thalweg as tw
from thalweg.nn import functional as F


def rng(seed=0):
    return np.random.default_rng(seed)


def make(shape, dtype="float32", seed=0):
    values = rng(seed).uniform(-2, 2, shape)
    return tw.tensor(values * 40 if dtype.startswith("int") else values).to(getattr(tw, dtype))


def both(function, *tensors):
    """The results of a function on the CPU and on CUDA."""
    expected, got = function(*tensors), function(*[t.cuda() for t in tensors])
    assert got.is_cuda and got.dtype == expected.dtype and got.shape == expected.shape
    return expected.double().numpy(), got.cpu().double().numpy()


def same(function, *tensors, tolerance=0.0):
    expected, got = both(function, *tensors)
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "int64", "bfloat16", "float32", "float64"])
def test_gather_and_index(dtype):
    x = make((5, 7, 6), dtype)
    rows = tw.tensor(rng().integers(0, 5, (4, 3)))
    same(lambda x, i: tw.gather(x, 0, i), x, tw.tensor(rng().integers(0, 5, (9, 7, 5))))
    same(lambda x, i: tw.gather(x, 1, i), x, tw.tensor(rng().integers(0, 7, (3, 2, 6)).astype("int32")))
    same(lambda x, i: x[i], x, rows)
    same(lambda x, i: x[:, i], x.transpose(0, 1), rows)
    same(lambda x, i: x[:, :, -i], x, rows)
    same(lambda x, i, j: x[i, :, j], x, rows, rows[0])
    same(lambda x, m: x[m], x, x > 0 if dtype != "bool" else x)
    same(lambda x, m: x[:, m], x, tw.tensor(rng(1).integers(0, 2, (7,)) > 0))


def test_lists_are_indices_and_sources():
    x = make((5, 7))
    same(lambda x: x[[1, 4, 1]], x)
    same(lambda x: x[[0, 2], [6, 1]], x)
    same(lambda x: x[[True, False, True, True, False]], x)

    def write(x):
        y = x.clone()
        y[[4, 0]] = [7.0, 8.0, 9.0, 1.0, 2.0, 3.0, 4.0]
        y[1, [2, 3]] = 5.0
        return y

    same(write, x)


def test_tables_whose_rows_have_gaps():
    ids = tw.tensor([[3, 0, 0], [4, 1, 3]])
    for table in (make((8, 5)).t(), make((5, 16))[:, ::2], make((5, 16))[:, 1:9]):
        same(lambda t, i: F.embedding(i, t), table, ids)


def test_index_moves_wide_units():
    for width in (1, 2, 3, 4, 12, 16, 33):
        for dtype in ("uint8", "bfloat16", "float32"):
            x = make((6, 2, width), dtype)
            same(lambda x, i: x[i], x, tw.tensor([5, 0, 0, 3]))
            same(lambda x, i: x[:, 1:][i], x, tw.tensor([5, 0, 0, 3]))
            same(lambda x, i: x.cpu()[i] if not x.is_cuda else x[i], x[..., 1:], tw.tensor([1, 1]))


@pytest.mark.parametrize("dtype", ["uint8", "int64", "bfloat16", "float32"])
def test_the_last_write_stays(dtype):
    index = tw.tensor(rng().integers(0, 6, 500))
    x, values = make((6, 5), dtype), make((500, 5), dtype, 1)
    same(lambda x, i, v: tw.index_put(x, [i], v), x, index, values)
    same(lambda x, i, v: tw.index_put(x, [i, i % 5], v[:, 0]), x, index, values)
    same(lambda x, i, v: x.scatter(0, i[:, None].expand(500, 5), v), x, index, values)
    same(lambda x, v: x.scatter(1, v.abs().long() % 5, 3), x, make((6, 100), seed=2))

    def in_place(x, index, values):
        x = x.clone()
        x[index] = values
        x[1] = 0
        x[:, index[:3] % 5] = 7
        x[x > 1] = 2
        return x

    same(in_place, x, index, values)


@pytest.mark.parametrize("dtype", ["int32", "float16", "float32", "float64"])
def test_sums_at_places_that_repeat(dtype):
    tolerance = {"int32": 0, "float16": 3e-2, "float32": 1e-4, "float64": 1e-12}[dtype]
    for count, rows in ((3, 50), (500, 6), (3000, 2), (5000, 3000)):
        index = tw.tensor(rng().integers(0, rows, count))
        x, values = make((rows, 3), dtype), make((count, 3), dtype, 1) / (1 if dtype == "int32" else count)
        values = values.to(x.dtype)
        same(lambda x, i, v: tw.index_put(x, [i], v, accumulate=True), x, index, values, tolerance=tolerance)
        same(lambda x, i, v: x.index_add(0, i, v), x, index, values, tolerance=tolerance)
        same(lambda x, i, v: x[:, 0].scatter_add(0, i, v[:, 0]), x, index, values, tolerance=tolerance)
    x = make((4, 40), dtype)
    index = tw.tensor(rng().integers(0, 40, (4, 2500)))
    same(lambda x, i: x.scatter_add(1, i, tw.ones_like(i).to(x.dtype)), x, index, tolerance=tolerance)


@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
@pytest.mark.parametrize("include_self", [False, True])
def test_scatter_reduce(reduce, include_self):
    for dtype in ("uint8", "int64", "float32"):
        x, src = make((7, 9), dtype), make((30, 9), dtype, 1)
        index = tw.tensor(rng().integers(0, 7, (30, 9)))
        same(lambda x, i, s: x.scatter_reduce(0, i, s, reduce, include_self=include_self), x, index, src,
             tolerance=1e-5)  # fmt: skip
    x, index = tw.tensor([1.0, float("nan"), 2.0]), tw.tensor([0, 1, 2, 2])
    src = tw.tensor([float("nan"), 1.0, 3.0, 1.0])
    same(lambda x, i, s: x.scatter_reduce(0, i, s, reduce, include_self=include_self), x, index, src)


def test_gradients_repeat_bit_for_bit():
    index = tw.tensor(rng().integers(0, 9, 4000)).cuda()
    table, grad = make((9, 16)).cuda(), make((4000, 16), seed=1).cuda()

    def gradient(function):
        leaf = table.detach().requires_grad_()
        function(leaf).backward(grad)
        return leaf.grad.cpu().numpy()

    for function in (lambda t: t[index], lambda t: F.embedding(index, t), lambda t: t.index_select(0, index)):
        first = gradient(function)
        exact = np.zeros((9, 16))
        np.add.at(exact, index.cpu().numpy(), grad.cpu().double().numpy())
        np.testing.assert_allclose(first, exact, rtol=1e-4, atol=1e-4)
        assert all((gradient(function) == first).all() for _ in range(2))


def test_embedding_by_frequency_and_norm():
    index = tw.tensor(rng().integers(0, 9, (6, 40)))
    for dtype in ("bfloat16", "float32"):
        table = make((9, 5), dtype)

        def gradient(table, index):
            leaf = table.detach().requires_grad_()
            F.embedding(index, leaf, padding_idx=3, scale_grad_by_freq=True).sum().backward()
            return leaf.grad

        same(gradient, table, index, tolerance=1e-2 if dtype == "bfloat16" else 1e-6)
        for norm in (1.0, 2.0, 3.0, float("inf")):
            same(lambda t, i, n=norm: F.embedding(i, t.clone(), max_norm=1.0, norm_type=n), table, index[:2, :3],
                 tolerance=1e-2 if dtype == "bfloat16" else 1e-6)  # fmt: skip


def test_nonzero():
    for shape in ((), (0, 3), (5,), (3, 70, 41), (9000,)):
        for gaps in (False, True):
            x = tw.tensor(rng().integers(0, 3, shape))
            x = tw.stack([x, x], -1)[..., 0] if gaps else x
            same(tw.nonzero, x)
    same(lambda x: tw.masked_select(x, x > 0), make((50, 60)))


def test_windows_that_overlap():
    def gradient(x):
        x = x.detach().requires_grad_()
        y = x.as_strided((6, 5), (2, 1), 3)
        (y * tw.arange(30, device=x.device, dtype=x.dtype).reshape(6, 5)).sum().backward()
        return x.grad

    same(gradient, make((40,)))
    same(gradient, make((40,), "float64"))
    same(lambda x: x.as_strided((3, 4), (0, 1)).sum(0), make((4,)), tolerance=1e-6)
    same(lambda x: x.unfold(0, 5, 2), make((21,)))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[tw.tensor([0, 7, -9, 8]).to(x.device)],
        lambda x: x[:, tw.tensor([[2], [-4]]).to(x.device)],
        lambda x: tw.gather(x, 1, tw.tensor([[0, 3]]).to(x.device)),
        lambda x: tw.gather(x, 0, tw.tensor([[-1]]).to(x.device)),
        lambda x: x.scatter(0, tw.tensor([[8]]).to(x.device), 1.0),
        lambda x: x.index_add(1, tw.tensor([5]).to(x.device), x[:, :1]),
        lambda x: tw.index_put(x, [tw.tensor([9, 1]).to(x.device)], x[0]),
        lambda x: F.embedding(tw.tensor([1, 8]).to(x.device), x),
        lambda x: F.embedding(tw.tensor([1, -1]).to(x.device), x.clone(), max_norm=1.0),
        lambda x: x[tw.zeros(0, 3, device=x.device)[:, 0].long(), 0].new_zeros(0, 3)[tw.tensor([0]).to(x.device)],
    ],
)
def test_wrong_indices(function):
    """The same error as on the CPU, told to the next to wait, and nothing written."""
    x = make((8, 3))
    with pytest.raises(Exception) as expected:
        function(x)
    y = x.cuda()
    with pytest.raises(expected.type) as got:
        function(y)
        tw.cuda.synchronize()
    assert str(got.value) == str(expected.value)
    assert (y.cpu() == x).all()


def test_a_wrong_index_in_place_writes_nowhere():
    x, one = tw.zeros(4, device="cuda"), tw.ones((), device="cuda")
    indices = tw.tensor([[0, 4], [-5, 1]], device="cuda")
    x[indices[0]] = one
    x[indices[1]] += one
    with pytest.raises(IndexError, match="index (4|-5) is out of bounds for dim 0 of size 4"):
        x.tolist()
    assert x.tolist() == [1, 1, 0, 0]


def test_mistakes_are_told_once_to_who_waits():
    """The call returns, other work goes on, and the next read says what was wrong."""
    x, zero = tw.tensor([6, 7], device="cuda"), tw.tensor([2, 0], device="cuda")
    quotients = x // zero
    other = x + x
    with pytest.raises(RuntimeError, match="floor_divide: ZeroDivisionError: an integer was divided by zero"):
        other.tolist()
    assert other.tolist() == [12, 14] and quotients[0].item() == 3
    tw.cuda.synchronize()


def test_assert_none():
    from thalweg._registry import ops

    ops.assert_none(tw.zeros(3, 4, dtype=tw.bool, device="cuda"), "ValueError", "it holds")
    holds = tw.zeros(300, 4, dtype=tw.bool)
    holds[250, 1] = holds[271, 3] = True
    with pytest.raises(ValueError, match=r"it holds \(not so at \[250, 1\]\)"):
        ops.assert_none(holds.cuda(), "ValueError", "it holds")
