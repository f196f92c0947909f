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


def test_not_a_number_fills_its_row():
    for n in (3, 200):
        x = np.zeros((3, n), np.float32)
        x[0, n // 2], x[2, -1] = np.nan, np.inf
        for op in (tw.softmax, tw.log_softmax):
            y = op(tw.tensor(x), 1).numpy()
            assert np.isnan(y[0]).all() and np.isfinite(y[1]).all() and np.isnan(y[2, -1])


def test_rows_far_apart_in_size_and_length():
    rng = np.random.default_rng(0)
    for n in (63, 64, 1000, 5000):
        x = (rng.normal(size=(5, n)) * [[1], [30], [1e3], [1e-4], [0]] + [[0], [1e4], [-1e3], [0], [7]]).astype(
            np.float32
        )
        wide = x.astype(np.float64)
        np.testing.assert_allclose(tw.softmax(tw.tensor(x), 1).numpy(), softmax(wide, 1), rtol=3e-6, atol=1e-37)
        np.testing.assert_allclose(tw.log_softmax(tw.tensor(x), 1).numpy(), log_softmax(wide, 1), rtol=1e-6, atol=1e-3)


def test_gumbel_softmax():
    tw.manual_seed(0)
    shares = np.array([0.5, 0.3, 0.2])
    logits = tw.tensor(np.log(shares)).expand(20000, 3).requires_grad_()
    hard = F.gumbel_softmax(logits, tau=0.7, hard=True)
    assert sorted(set(hard.detach().numpy().round(12).ravel())) == [0, 1]
    np.testing.assert_allclose(hard.detach().mean(0).numpy(), shares, atol=0.02)
    (hard * tw.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert (logits.grad != 0).any()  # that of the soft sample
    soft = F.gumbel_softmax(logits.detach(), tau=0.7)
    np.testing.assert_allclose(soft.sum(-1).numpy(), 1, rtol=1e-6)
    np.testing.assert_allclose(F.one_hot(soft.argmax(-1), 3).double().mean(0).numpy(), shares, atol=0.02)
