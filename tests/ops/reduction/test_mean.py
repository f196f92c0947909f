import math

import numpy as np
import pytest
import thalweg as tw
from harness import check, sample


def mean(x, dim=None, keepdim=False):
    return x.mean(tuple(dim) if isinstance(dim, list) else dim, keepdims=keepdim)


def test_mean():
    samples = [
        sample((3, 4)),
        sample((3, 4), dim=1),
        sample((2, 3, 4), dim=[0, 2], keepdim=True),
        sample((5, 1), dim=0),
    ]
    check(tw.mean, mean, samples, dtypes=("float32", "float64", "bfloat16"))
    assert math.isnan(tw.zeros(0).mean())
    with pytest.raises(RuntimeError, match="mean: a floating"):
        tw.tensor([1, 2]).mean()
    assert tw.tensor([1, 2]).mean(dtype=tw.float64) == 1.5


def test_same_on_any_number_of_threads():
    x = tw.tensor(np.random.default_rng(0).normal(size=(1000, 1000)).astype(np.float32))
    results = []
    threads = tw.get_num_threads()
    for count in (1, 2):
        tw.set_num_threads(count)
        results.append((x.mean().item(), x.std().item(), x.argmax().item(), tw.softmax(x, 0).sum().item()))
    tw.set_num_threads(threads)
    assert results[0] == results[1]
