import numpy as np
import pytest
import thalweg as tw
from harness import check, sample
from thalweg._registry import ops


def test_slice_and_its_gradient():
    check(ops.slice, lambda x, dim, *s: x[:, slice(*s)] if dim else x[slice(*s)],
          [sample((5, 7), 1, 1, 6, 2), sample((5, 7), 0, -3, 9, 1)])  # fmt: skip

    def scatter(grad, size, dim, *window):
        result = np.zeros(size)
        result[(slice(None),) * dim + (slice(*window),)] = grad
        return result

    check(ops.slice_scatter_zeros, scatter, [sample((5, 3), [5, 7], 1, 1, 6, 2), sample((2, 7), [5, 7], 0, 3, 5, 1)])


def test_a_step_past_the_end_leaves_the_first_element():
    huge = 2**63 - 1
    x = tw.arange(6.0, requires_grad=True)
    assert x[1::huge].tolist() == [1.0]
    assert x[6::huge].tolist() == []
    x[1::huge].sum().backward()
    assert x.grad.tolist() == [0.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    assert x.unfold(0, 2, huge).tolist() == [[0.0, 1.0]]


def test_the_gradient_of_select():
    def scatter(grad, size, dim, index):
        result = np.zeros(size)
        np.moveaxis(result, dim, 0)[index] = grad
        return result

    check(ops.select_scatter_zeros, scatter, [sample((5, 4), [5, 3, 4], 1, -1), sample((3, 4), [5, 3, 4], 0, 2)])


def test_windows_and_gradients_of_other_sizes_are_refused():
    for size, dim, stop in (([5, 7], 0, 5), ([4, 7], 1, 3), ([5, 7, 1], 1, 3), ([], 0, 1)):
        with pytest.raises((RuntimeError, IndexError), match="slice_scatter_zeros"):
            ops.slice_scatter_zeros(tw.ones(5, 3), size, dim, 0, stop, 1)
    for size, index in (([5, 3], 0), ([4, 3, 2], 0), ([4, 5, 3], 4), ([], 0)):
        with pytest.raises((RuntimeError, IndexError), match="select"):
            ops.select_scatter_zeros(tw.ones(5, 3), size, 0, index)
