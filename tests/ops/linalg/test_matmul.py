import numpy as np
import pytest
import thalweg as tw
from harness import check, sample


def test_mm():
    check(tw.mm, np.matmul, [sample((3, 4), (4, 5)), sample((2, 0), (0, 3)), sample((1, 7), (7, 1))])


def test_bmm():
    check(tw.bmm, np.matmul, [sample((2, 3, 4), (2, 4, 5)), sample((0, 3, 4), (0, 4, 5))])


def test_matmul_takes_every_rank():
    shapes = [((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 5)), ((2, 3, 4), (4, 5)), ((3, 1, 2, 4), (2, 4, 3))]
    check(tw.matmul, np.matmul, [sample(a, b) for a, b in shapes])


def test_messages_name_op_and_both_shapes():
    with pytest.raises(RuntimeError, match=r"matmul: the inner sizes differ: input is \[4, 3\], other is \[5, 2\]"):
        tw.ones(4, 3) @ tw.ones(5, 2)
    with pytest.raises(RuntimeError, match="float64 and float32"):
        tw.ones(3, 3, dtype=tw.float64) @ tw.ones(3, 3)
