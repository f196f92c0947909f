"""Views against NumPy, their gradients, and that they share memory."""

import numpy as np
import pytest
import thalweg as tw
from harness import Sample, array, check, sample
from thalweg._registry import ops


def test_squeeze_and_flatten():
    check(tw.squeeze, lambda x, dim=None: x.squeeze() if dim is None else x.reshape(2, 3),
          [sample((1, 2, 1, 3)), sample((1, 2, 1, 3), dim=[0, 1, 2])])  # fmt: skip
    assert tw.ones(2, 1).squeeze(0).shape == (2, 1)
    check(tw.flatten, lambda x, a, b: x.reshape(2, 12, 5), [sample((2, 3, 4, 5), 1, 2)])
    check(tw.unflatten, lambda x, dim, sizes: x.reshape(2, 3, 2), [sample((2, 6), 1, [-1, 2])])
    check(tw.ravel, np.ravel, [sample((2, 3))])


@pytest.mark.parametrize("offset", [-2, -1, 0, 2, 9])
def test_diagonals(offset):
    check(tw.diagonal, lambda x, *a: np.diagonal(x, *a), [Sample((array((3, 4, 2)), offset, 0, 1))])
    check(tw.diagonal, lambda x, *a: np.diagonal(x, *a), [Sample((array((3, 4, 2)), offset, -1, 1))])
    check(tw.diag, np.diag, [Sample((array(shape), offset)) for shape in [(3,), (3, 4)]])
    check(tw.diagflat, np.diagflat, [Sample((array((2, 2)), offset))])
    check(
        tw.diag_embed,
        lambda x, offset: np.stack([np.diag(row, offset) for row in x]),
        [Sample((array((2, 3)), offset))],
    )


def test_scatters_write_into_a_copy():
    x = array((3, 4))

    def written(window):
        def reference(x, src, *rest):
            result = x.copy()
            window(result)[...] = src
            return result

        return reference

    def on_diagonal(x):
        view = np.lib.stride_tricks.as_strided(x[:, 1:], (3,), (x.strides[0] + x.strides[1],))
        return view

    check(tw.diagonal_scatter, written(on_diagonal), [Sample((x, array((3,)), 1))])
    check(tw.select_scatter, written(lambda x: x[:, 2]), [Sample((x, array((3,)), 1, 2))])
    check(tw.slice_scatter, written(lambda x: x[:, 1:4:2]), [Sample((x, array((3, 2)), 1, 1, 4, 2))])


def test_unfold():
    def reference(x, dim, size, step):
        return np.lib.stride_tricks.sliding_window_view(x, size, dim)[
            (slice(None),) * (dim % x.ndim) + (slice(None, None, step),)
        ]

    samples = [sample((2, 7), 1, 3, 2), sample((5, 3), 0, 2, 1), sample((4,), 0, 4, 1)]
    check(lambda x, *a: x.unfold(*a), reference, samples)


def test_orders_of_dims():
    x = array((2, 3, 4))
    check(tw.movedim, np.moveaxis, [Sample((x, 0, 2)), Sample((x, [0, 1], [-1, 0]))])
    check(tw.moveaxis, np.moveaxis, [Sample((x, -1, 0))])
    check(tw.swapaxes, np.swapaxes, [Sample((x, 0, 1))])
    check(tw.swapdims, np.swapaxes, [Sample((x, 0, 2))])
    check(tw.transpose, np.swapaxes, [Sample((x, 0, -1))])
    check(tw.transpose, np.transpose, [Sample((x, (2, 0, 1)))])  # NumPy's form
    check(tw.t, np.transpose, [sample((2, 3)), sample((3,))])
    check(lambda x: x.T, np.transpose, [sample((2, 3))])
    check(lambda x: x.mT, lambda x: x.swapaxes(-1, -2), [Sample((x,))])
    z = array((2, 3)) + 1j * array((2, 3), seed=1)
    for got in (tw.tensor(z).H, tw.tensor(z).mH, tw.adjoint(tw.tensor(z))):
        np.testing.assert_array_equal(got.numpy(), z.conj().T)


def test_broadcasting():
    check(tw.broadcast_to, np.broadcast_to, [sample((3, 1), [2, 3, 4])])
    check(tw.broadcast_tensors, lambda a, b: list(np.broadcast_arrays(a, b)), [sample((3, 1), (1, 2))])
    assert tw.broadcast_shapes((2, 1), 3, ()) == (2, 3)
    with pytest.raises(RuntimeError, match="broadcast"):
        tw.broadcast_shapes((2,), (3,))
    x, wide = tw.ones(1, 3), tw.zeros(2, 3)
    assert x.expand_as(wide).shape == (2, 3)
    assert wide.view_as(tw.ones(6)).shape == wide.reshape_as(tw.ones(6)).shape == (6,)


def test_repeats():
    check(
        lambda x, *r: x.repeat(*r),
        lambda x, *r: np.tile(x, r),
        [sample((2, 3), 2, 1), sample((3,), 2, 2), sample((2,), 0)],
    )
    check(tw.tile, lambda x, r: np.tile(x, r), [Sample((array((2, 3)), (2,))), Sample((array((2,)), (3, 2)))])
    check(
        tw.repeat_interleave, lambda x, r, dim=None: np.repeat(x, r, dim), [sample((2, 3), 2), sample((2, 3), 2, dim=1)]
    )
    counts = np.array([2, 0, 1])
    check(tw.repeat_interleave, lambda x, r, dim: np.repeat(x, r, dim), [Sample((array((2, 3)), counts), {"dim": 1})])
    assert tw.repeat_interleave(tw.tensor([2, 0, 1])).tolist() == [0, 0, 2]
    with pytest.raises(RuntimeError, match="add up"):
        ops.repeat_positions(tw.tensor([2, 2]), 3)


def test_view_shares_memory_and_reads_other_dtypes():
    x = tw.arange(6.0)
    x.view(2, 3)[0, 1] = 9
    assert x[1].item() == 9
    with pytest.raises(RuntimeError, match="copy"):
        x.view(2, 3).t().view(6)
    bits = tw.tensor([1.0, -2.0]).view(tw.int32)
    assert bits.tolist() == np.array([1, -2], np.float32).view(np.int32).tolist()
    assert tw.zeros(3, 4).view(tw.int64).shape == (3, 2)
    assert ops.view_dtype(tw.zeros(3, 4), tw.uint8).shape == (3, 16)
    with pytest.raises(RuntimeError):
        tw.zeros(3).view(tw.float64)


def test_as_strided_of_an_expanded_tensor_shares_its_gradient():
    z = array((3, 2))
    for through in (lambda e: e, lambda e: e.as_strided((3, 2), (0, 1))):
        x = tw.tensor([1.0, 2.0], dtype=tw.float64, requires_grad=True)
        (through(x.expand(3, 2)) * tw.tensor(z)).sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), z.sum(0))


@pytest.mark.parametrize(
    "size, stride, offset", [((5,), (1,), None), ((2,), (4,), 0), ((1,), (1,), 4), ((2**40,), (2**40,), 0)]
)
def test_as_strided_stays_within_its_storage(size, stride, offset):
    x = tw.arange(4)
    assert x.as_strided((2, 2), (1, 2)).tolist() == [[0, 2], [1, 3]]
    with pytest.raises(RuntimeError, match="storage of 32 bytes"):
        x.as_strided(size, stride, offset)
    with pytest.raises(RuntimeError, match="storage of 32 bytes"):
        x.as_strided_(size, stride, offset)
