import numpy as np
import pytest
import thalweg as tw
from harness import Sample, array, check

BASE = array((3, 4), 0.3, 2.0)


def test_pow():
    check(
        tw.pow,
        np.power,
        [
            Sample((BASE, array((3, 4)))),
            Sample((BASE, array((4,)))),
            Sample((array((5,)), 2)),
            Sample((array((5,)), 3.0)),
            Sample((BASE, 0.5)),
            Sample((BASE, -1.5)),
            Sample((BASE, 0.0)),
        ],
    )
    check(tw.pow, np.power, [Sample((2.0, array((5,))))], sbp=False)
    check(tw.pow, np.power, [Sample((BASE, 3))], inplace="pow_", grad=False)


def test_integers():
    x = tw.tensor([2, -3, 1, -1])
    assert (x**3).tolist() == [8, -27, 1, -1]
    assert (x ** tw.tensor([-1, -1, -2, -3])).tolist() == [0, 0, 1, -1]
    assert (2 ** tw.tensor([0, 10])).tolist() == [1, 1024]


def test_gradients_at_the_edges():
    x = tw.tensor([0.0, 0.0, 2.0], requires_grad=True)
    e = tw.tensor([0.0, 2.0, 0.0], requires_grad=True)
    (x**e).sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 0.0]
    np.testing.assert_allclose(e.grad.numpy(), [0.0, 0.0, np.log(2)], rtol=1e-6)


def test_wrapped_numbers_take_the_tensors_dtype():
    # pytorch/pytorch#50121: a Python number wraps, a 0-dim tensor of the same kind does too
    assert (tw.tensor([17], dtype=tw.uint8).pow(2)).dtype == tw.uint8
    assert (2 ** tw.tensor([17], dtype=tw.uint8)).tolist() == [0]
    assert (2 ** tw.tensor(17, dtype=tw.uint8)).item() == 0
    f32, f64 = tw.ones(2), tw.tensor(1.0, dtype=tw.float64)
    assert (f32 + f64).dtype == tw.float32
    assert (tw.ones(2, dtype=tw.int32) + tw.tensor(1.0)).dtype == tw.float32


def test_numbers_of_numpy():
    # pytorch/pytorch#29252, #6196
    ones = tw.ones(1, dtype=tw.int64)
    for result in (np.int64(1) + ones, ones + np.int64(1)):
        assert result.dtype == tw.int64
        assert result.tolist() == [2]
    half = tw.tensor([1, 2, 3]) + 0.5
    assert half.dtype == tw.float32
    assert half.tolist() == [1.5, 2.5, 3.5]
    assert (tw.tensor([1, 2, 3]).sum() / 0.001).dtype == tw.float32


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x**-1,
        lambda x: tw.pow(x, -1),
        lambda x: x.pow(-2),
        lambda x: x.pow_(-1),
        lambda x: x.__ipow__(-1),
        lambda x: x.bool() ** -1,
    ],
)
def test_integers_have_no_negative_powers(call):
    with pytest.raises(RuntimeError, match="pow: integers have no negative powers"):
        call(tw.tensor([2, 1, -1]))


def test_tensors_of_negative_exponents_give_whole_numbers():
    x = tw.tensor([2, 1, -1])
    assert (x ** tw.tensor(-1)).tolist() == [0, 1, -1]
    assert (2 ** tw.tensor([-1, 1])).tolist() == [0, 2]
    assert (x**-1.0).tolist() == [0.5, 1.0, -1.0]
    out = tw.zeros(3, dtype=tw.int64)
    assert tw.pow(x, 2, out=out) is out and out.tolist() == [4, 1, 1]


def test_float_power_wants_a_tensor():
    with pytest.raises(TypeError, match="float_power: a tensor is wanted"):
        tw.float_power(2, 3)
