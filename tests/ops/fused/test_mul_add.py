"""mul_add, which programs run in place of mul and add, bit for bit."""

import numpy as np
import pytest
import thalweg as tw
from harness import array, check, sample, to_tensor
from sharded import check_call
from thalweg._registry import ops


def test_is_mul_and_then_add():
    samples = [sample((3, 4), (3, 4), (3, 4)), sample((3, 4), (4,), (3, 1)), sample((2, 0), (2, 0), (1,))]
    check(ops.mul_add, lambda a, b, c: a * b + c, samples, grad=False, sbp=False)
    a, b, c = (tw.tensor(array((5, 40), seed=i), dtype=tw.float32) for i in range(3))
    np.testing.assert_array_equal(ops.mul_add(a, b, c).numpy(), (a * b + c).numpy())


def test_signatures():
    check_call(ops.mul_add, [to_tensor(array(s, seed=len(s)), "float64") for s in ((4, 6), (6,), (4, 1))], {}, False)
    signatures = ops.mul_add.signatures(*[tw.ones(4, 6)] * 3)
    assert ([("P", "sum"), ("B",), ("P", "sum")], [("P", "sum")]) in signatures


def test_integers_are_refused():
    with pytest.raises(TypeError, match="mul_add: a floating dtype is wanted"):
        ops.mul_add(*[tw.ones(2, dtype=tw.int64)] * 3)
