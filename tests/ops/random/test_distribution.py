import numpy as np
import pytest
import thalweg as tw

N = 200_000


def drawn(name, *args):
    tw.manual_seed(5)
    return getattr(tw.empty(N, dtype=tw.float64), name)(*args).numpy()


def test_moments():
    u = drawn("uniform_", -1.0, 3.0)
    assert u.min() >= -1
    assert u.max() < 3
    assert u.mean() == pytest.approx(1, abs=0.01)
    z = drawn("normal_", 2.0, 0.5)
    assert z.mean() == pytest.approx(2, abs=0.01)
    assert z.std() == pytest.approx(0.5, abs=0.01)
    assert ((z - 2) ** 3).mean() == pytest.approx(0, abs=0.01)
    assert drawn("exponential_", 2.0).mean() == pytest.approx(0.5, abs=0.01)
    assert np.median(drawn("cauchy_", 1.0, 2.0)) == pytest.approx(1, abs=0.05)
    assert np.log(drawn("log_normal_", 1.0, 0.5)).mean() == pytest.approx(1, abs=0.01)
    assert drawn("geometric_", 0.25).mean() == pytest.approx(4, abs=0.1)


@pytest.mark.parametrize("name", ["uniform_", "normal_", "exponential_"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_threads_and_strides_change_nothing(name, dtype):
    kind, before = getattr(tw, dtype), tw.get_num_threads()
    results = []
    try:
        for threads, target in [
            (1, tw.empty(301, 173, dtype=kind)),
            (2, tw.empty(301, 173, dtype=kind)),
            (1, tw.empty(173, 301, dtype=kind).t()),
        ]:
            tw.set_num_threads(threads)
            tw.manual_seed(3)
            results.append(getattr(target, name)().float().contiguous().numpy())
    finally:
        tw.set_num_threads(before)
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


def test_generators_are_apart_from_the_global_one():
    g = tw.Generator().manual_seed(1)
    first = tw.rand(4, generator=g)
    tw.rand(3)
    second = tw.rand(4, generator=g)
    g.manual_seed(1)
    assert tw.equal(tw.rand(4, generator=g), first)
    assert not tw.equal(first, second)


def test_integers():
    x = tw.randint(-3, 4, (N,))
    assert x.dtype == tw.int64
    assert sorted(set(x.tolist())) == list(range(-3, 4))
    assert sorted(tw.randperm(50).tolist()) == list(range(50))
    assert tw.empty(100, dtype=tw.uint8).random_().float().std().item() > 30
    assert set(tw.empty(50, dtype=tw.int32).random_(2, 4).tolist()) == {2, 3}
    assert tw.randint_like(tw.zeros(3), 5).dtype == tw.float32
    with pytest.raises(RuntimeError, match="bound"):
        tw.randint(3, 3, (2,))


def test_like_and_complex():
    x = tw.zeros(2, 3, dtype=tw.float64)
    assert tw.rand_like(x).dtype == tw.float64
    assert tw.randn_like(x).shape == x.shape
    z = tw.randn(N, dtype=tw.complex64).numpy()
    assert (abs(z) ** 2).mean() == pytest.approx(1, abs=0.02)


def test_normal_of_tensors():
    tw.manual_seed(0)
    mean = tw.full((N,), 3.0)
    assert tw.normal(mean, 0.1).numpy().mean() == pytest.approx(3, abs=0.01)
    assert tw.normal(mean, mean).numpy().std() == pytest.approx(3, abs=0.05)
    assert tw.normal(0.0, 1.0, (2, 2)).shape == (2, 2)
    with pytest.raises(RuntimeError, match="negative"):
        tw.normal(mean, -1.0)


def test_bernoulli():
    tw.manual_seed(0)
    p = tw.tensor([0.0, 1.0, 0.3]).expand(N // 10, 3)
    rates = tw.bernoulli(p).numpy().mean(0)
    assert rates[:2].tolist() == [0.0, 1.0]
    assert rates[2] == pytest.approx(0.3, abs=0.02)
    assert tw.bernoulli(tw.zeros(4), 1.0).tolist() == [1.0] * 4
    assert tw.empty(3, dtype=tw.int64).bernoulli_(0.0).tolist() == [0, 0, 0]
    with pytest.raises(RuntimeError, match=r"\[0, 1\]"):
        tw.bernoulli(tw.tensor([1.5]))


def test_multinomial():
    tw.manual_seed(0)
    weights = tw.tensor([0.0, 1.0, 3.0, 0.0])
    counts = np.bincount(tw.multinomial(weights, 20_000, replacement=True).numpy(), minlength=4)
    assert counts[0] == counts[3] == 0
    assert counts[2] / counts[1] == pytest.approx(3, abs=0.2)
    rows = tw.multinomial(tw.ones(5, 7), 7)
    assert all(sorted(row) == list(range(7)) for row in rows.tolist())
    first = np.array([tw.multinomial(weights, 2)[0].item() for _ in range(400)])
    assert (first == 2).mean() == pytest.approx(0.75, abs=0.08)
    for bad in (tw.tensor([-1.0, 2.0]), tw.tensor([float("nan"), 1.0]), weights):
        with pytest.raises(RuntimeError):
            tw.multinomial(bad, 3 if bad is weights else 1)


def test_wrong_parameters():
    x = tw.empty(2)
    for name, args in [
        ("uniform_", (1, 0)),
        ("normal_", (0, -1)),
        ("exponential_", (0,)),
        ("geometric_", (1.0,)),
        ("cauchy_", (0, 0)),
        ("log_normal_", (0, -1)),
    ]:
        with pytest.raises(RuntimeError):
            getattr(x, name)(*args)
    assert x.fill_(1).uniform_(2, 2).tolist() == [2.0, 2.0]


def test_complex_in_place():
    tw.manual_seed(0)
    x = tw.zeros(100, 200, dtype=tw.complex64).t().normal_(3.0, 2.0).numpy()
    for part in (x.real, x.imag):
        assert abs(part.mean() - 3) < 0.05 and abs(part.std() - 2**0.5) < 0.05
    assert abs(np.corrcoef(x.real.ravel(), x.imag.ravel())[0, 1]) < 0.03
    u = tw.zeros(2000, dtype=tw.complex128).uniform_(-1.0, 3.0).numpy()
    for part in (u.real, u.imag):
        assert part.min() >= -1 and part.max() < 3 and abs(part.mean() - 1) < 0.15


@pytest.mark.parametrize("with_std", [True, False])
def test_draws_of_tensors_have_gradient_zero(with_std):
    mean, std = tw.ones(2, 1, requires_grad=True), tw.ones(3, dtype=tw.float64, requires_grad=True)
    drawn = tw.normal(mean, std if with_std else 2.0)
    assert drawn.requires_grad and drawn.dtype == tw.float32 and drawn.shape == (2, 3 if with_std else 1)
    drawn.sum().backward()
    assert mean.grad.tolist() == [[0.0], [0.0]]
    assert not with_std or std.grad.tolist() == [0.0] * 3
    chances = tw.tensor([0.2, 1.0, float("nan")], requires_grad=True)[:2]
    events = tw.bernoulli(chances)
    assert events[1] == 1 and events.requires_grad
    assert tw.autograd.grad(events.sum(), chances)[0].tolist() == [0.0, 0.0]
    with tw.no_grad():
        assert not tw.normal(mean, 1.0).requires_grad
    with pytest.raises(RuntimeError, match="out="):
        tw.normal(mean, 1.0, out=tw.zeros(2, 1))


def test_layouts():
    assert tw.normal(1.0, 2.0, (3,), layout=tw.strided).shape == (3,)
    like = tw.randn_like(tw.zeros(2, 3, 4, 5), memory_format=tw.channels_last)
    assert like.stride() == (60, 1, 15, 3)
    with pytest.raises(RuntimeError, match="rand: the layout"):
        tw.rand(2, layout="sparse")


def test_multinomial_writes_indices_only():
    out = tw.zeros(2, dtype=tw.float64)
    with pytest.raises(RuntimeError, match="multinomial: out must have the dtype"):
        tw.multinomial(tw.ones(2), 2, out=out)
