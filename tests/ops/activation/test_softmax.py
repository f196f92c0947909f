import numpy as np
import pytest
import thalweg as tw
from harness import check, sample

F = tw.nn.functional
SAMPLES = [
    sample((3, 4), dim=1),
    sample((3, 4), dim=0),
    sample((2, 3, 4), dim=1),
    sample((), dim=0),
    sample((2, 0), dim=1),
    sample((2, 70), dim=-1, low=-90, high=90),
]


def softmax(x, dim):
    if x.ndim == 0:
        return np.ones(())
    e = np.exp(x - x.max(dim, keepdims=True)) if x.size else x
    return e / e.sum(dim, keepdims=True)


def log_softmax(x, dim):
    if x.ndim == 0:
        return np.zeros(())
    m = x.max(dim, keepdims=True) if x.size else 0
    return x - m - np.log(np.exp(x - m).sum(dim, keepdims=True))


def test_softmax():
    check(tw.softmax, softmax, SAMPLES)
    check(tw.softmax, softmax, SAMPLES[:3], grad=False, dtypes=("float16", "bfloat16"))
    check(tw.special.softmax, softmax, SAMPLES[:1])
    check(F.softmin, lambda x, dim: softmax(-x, dim), SAMPLES[:2])


def test_log_softmax():
    check(tw.log_softmax, log_softmax, SAMPLES)
    check(tw.log_softmax, log_softmax, SAMPLES[:3], grad=False, dtypes=("float16",))
    assert F.log_softmax(tw.ones(2, 3), 1, dtype=tw.float64).dtype == tw.float64


def test_masked_row_is_nan():
    x = tw.full((1, 3), float("-inf"))
    assert tw.isnan(tw.softmax(x, 1)).all()
    y = tw.softmax(tw.tensor([0.0, float("-inf")]), 0)
    assert y.tolist() == [1.0, 0.0]


def test_integers_need_a_dtype():
    with pytest.raises((TypeError, RuntimeError, NotImplementedError), match="softmax"):
        tw.softmax(tw.tensor([1, 2]), 0)
    assert tw.softmax(tw.tensor([1, 1]), 0, dtype=tw.float32).tolist() == [0.5, 0.5]
