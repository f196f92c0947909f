import numpy as np
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


def test_the_gradient_of_select():
    def scatter(grad, size, dim, index):
        result = np.zeros(size)
        np.moveaxis(result, dim, 0)[index] = grad
        return result

    check(ops.select_scatter_zeros, scatter, [sample((5, 4), [5, 3, 4], 1, -1), sample((3, 4), [5, 3, 4], 0, 2)])
