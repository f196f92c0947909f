import numpy as np
import pytest
import thalweg as tw
from harness import check, sample
from thalweg._registry import NN_FUNCTIONS

linear = NN_FUNCTIONS["linear"]


def test_linear():
    def reference(x, w, b=0.0):
        return x @ w.T + b

    check(linear, reference, [sample((3, 4), (5, 4), (5,)), sample((2, 3, 4), (5, 4)), sample((4,), (5, 4), (5,))])
    check(linear, reference, [sample((0, 4), (5, 4), (5,)), sample((3, 0), (5, 0), (5,)), sample((3, 4), (4,))])


def test_many_rows_on_two_threads_as_on_one():
    x, w, b = (
        tw.tensor(np.random.default_rng(i).standard_normal(s)) for i, s in enumerate([(513, 200), (97, 200), (97,)])
    )
    results = []
    threads = tw.get_num_threads()
    for count in (1, 2):
        tw.set_num_threads(count)
        results.append(linear(x, w, b).numpy())
    tw.set_num_threads(threads)
    assert (results[0] == results[1]).all()


def test_message_names_op_and_both_shapes():
    with pytest.raises(RuntimeError, match=r"linear: the inner sizes differ: input is \[302\], weight is \[1, 128\]"):
        linear(tw.ones(302), tw.ones(1, 128))


def test_rows_that_only_look_dense():
    """Matrices of one row each, two elements apart: no row stride serves all of them."""
    x = tw.tensor(np.arange(16.0).reshape(2, 1, 2, 1, 4))[..., ::2]
    w = tw.tensor(np.arange(8.0).reshape(4, 2))
    np.testing.assert_array_equal(linear(x, w).numpy(), x.numpy() @ w.numpy().T)
