import numpy as np
import thalweg as tw
from harness import check, sample
from thalweg._registry import ops


def test_full():
    samples = [sample([5, 3], 2.5), sample([], 1.0), sample([0, 2], 1.0)]
    check(ops.full, lambda size, value: np.full(size, value), samples, dtypes=("float32",))
    assert len(ops.full.signatures([5, 3], 1.0)) == 2


def test_the_dtype_is_that_of_the_number():
    for value, dtype in ((True, tw.bool), (2, tw.int64), (2.5, tw.float32), (2j, tw.complex64)):
        result = ops.full([2], value)
        assert result.dtype == dtype and result.tolist() == [value, value]
    assert ops.full([1], 3, dtype=tw.uint8).dtype == tw.uint8
