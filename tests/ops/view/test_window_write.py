import numpy as np
import pytest
import thalweg as tw
from harness import check, sample
from thalweg._registry import ops


def test_window_write():
    def write(x, src, stride, offset):
        result = x.copy()
        np.lib.stride_tricks.as_strided(result.reshape(-1)[offset:], src.shape, [s * x.itemsize for s in stride])[
            ...
        ] = src
        return result

    check(
        ops.window_write,
        write,
        [sample((4, 5), (2, 3), [5, 1], 6), sample((4, 5), (5,), [4], 0), sample((3,), (), [], 2),
         sample((4,), (0,), [1], 4)],
    )  # fmt: skip


def test_windows_that_leave_the_input_or_overlap_are_refused():
    x = tw.zeros(4, 5)
    for src, stride, offset in (((2, 3), [5, 1], 13), ((2,), [1], -1), ((2,), [2**62], 1), ((2, 2), [1], 0)):
        with pytest.raises(ValueError, match="window_write"):
            ops.window_write(x, tw.ones(*src), stride, offset)
    with pytest.raises(ValueError, match="share one location"):
        ops.window_write(x, tw.ones(2, 2), [1, 1], 0)
    with pytest.raises(TypeError, match="one dtype"):
        ops.window_write(x, tw.ones(2, dtype=tw.float64), [1], 0)
