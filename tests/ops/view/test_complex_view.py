"""view_as_real, view_as_complex: memory is shared, pairs must lie together, gradients of both orders."""

import numpy as np
import pytest
import thalweg as tw
from harness import array
from thalweg._registry import ops

COMPLEX = array((3, 4)) + 1j * array((3, 4), seed=1)


def test_view_as_real():
    z = tw.tensor(COMPLEX)
    for view, expected in ((z, COMPLEX), (z.t(), COMPLEX.T)):
        np.testing.assert_array_equal(tw.view_as_real(view).numpy(), np.stack([expected.real, expected.imag], -1))
    assert tw.view_as_real(tw.zeros((), dtype=tw.complex64)).dtype == tw.float32


def test_view_as_complex():
    for shape in ((3, 2), (2,), (0, 2)):
        x = array(shape)
        np.testing.assert_array_equal(tw.view_as_complex(tw.tensor(x)).numpy(), x[..., 0] + 1j * x[..., 1])


def test_gradients_of_both():
    def function(x):
        return tw.view_as_real((tw.view_as_complex(x.transpose(0, 1)) * (1 + 2j)).t())

    x = tw.tensor(array((3, 4, 2)), requires_grad=True)
    assert tw.autograd.gradcheck(function, (x,))
    assert tw.autograd.gradgradcheck(lambda x: function(x) ** 3, (x,))


def test_signatures():
    for name, shape in (("view_as_real", (3, 4)), ("view_as_complex", (3, 4, 2))):
        x = tw.zeros(shape, dtype=tw.complex64 if name == "view_as_real" else tw.float32)
        splits = [inputs[0] for inputs, outputs in getattr(ops, name).signatures(x) if inputs[0] == outputs[0]]
        assert splits == [("S", 0, 1), ("S", 1, 1), ("P", "sum")]


def test_memory_is_shared():
    z = tw.tensor(COMPLEX)
    real = tw.view_as_real(z.t()[1:])
    real[0, 0, 1] = 7.0
    assert z[0, 1].item().imag == 7.0
    assert tw.view_as_complex(real)[0, 0].item() == z[0, 1].item()


@pytest.mark.parametrize(
    "x", [tw.zeros(3), tw.zeros(2, dtype=tw.int64), tw.zeros(2, 2).t(), tw.zeros(3, 3)[:, :2], tw.zeros(5)[1:3]]
)
def test_view_as_complex_refuses(x):
    with pytest.raises(RuntimeError, match="view_as_complex"):
        tw.view_as_complex(x)
    with pytest.raises(RuntimeError, match="view_as_real"):
        tw.view_as_real(x)
