"""Numbers among the arguments, wherever an op or Python takes one: what eager mode gives, for every value."""

import math

import pytest
import thalweg as tw
from thalweg.nn import functional as F

CASES = {
    "arithmetic": lambda x, n, p: (n * x, n - x, p / (x + 9), x**n, n**x, x // n, x % n, -p * x, x @ x.t() * p),
    "in place": lambda x, n, p: x.clone().add_(n).mul_(p).fill_diagonal_(p).sub_(x, alpha=n),
    "fills": lambda x, n, p: (tw.full((n, 2), p), tw.full_like(x, p), x.clone().fill_(n), x.masked_fill(x > n, p)),
    "assigned": lambda x, n, p: assigned(x.clone(), n, p),
    "sizes": lambda x, n, p: (x.reshape(n, -1), x.repeat(n, 1), tw.zeros(n), tw.arange(n), tw.eye(n), tw.ones(n, n)),
    "places": lambda x, n, p: (x[n], x[:n], x[n:], x[:, n - 1], x.narrow(0, 0, n), x.select(0, n), x.roll(n, 0)),
    "dims": lambda x, n, p: (x.sum(n - 2), x.softmax(n - 2), x.transpose(n - 2, 1), x.unsqueeze(n - 2)),
    "choices": lambda x, n, p: (tw.where(x > n, x, p), x.clamp(-p, n), x.clamp(min=p), tw.maximum(x, tw.tensor(p))),
    "ranges": lambda x, n, p: (tw.linspace(0, p, 5), tw.arange(0, n, p), tw.tensor([n, p]), tw.tensor(n), tw.tensor(p)),
    "weights": lambda x, n, p: (tw.lerp(x, x * 2, p), x.add(x, alpha=n), tw.addcmul(x, x, x, value=p)),
    "functions": lambda x, n, p: (
        F.leaky_relu(x, p), F.elu(x, p), F.pad(x, (n, n), value=p), F.layer_norm(x, (6,), eps=p), F.dropout(x, p),
        F.interpolate(x[None, None], scale_factor=n), F.one_hot(tw.arange(n), n + 1), F.threshold(x, p, n),
        F.smooth_l1_loss(x, x * 2, beta=p), F.cross_entropy(x, tw.arange(x.shape[0]), label_smoothing=p / 9),
    ),
    "random": lambda x, n, p: (tw.normal(p, 1.0, (2,)), x.clone().uniform_(-p, n), tw.randint(n, (3,)), tw.rand(n)),
    "python": lambda x, n, p: x * (math.sqrt(p) + min(n, 3) + round(p, 1) + int(p) + float(n) + sum(range(n)) - p),
    "decisions": lambda x, n, p: (x if n > 2 and p else x * 2, [0, 1, 2, 3][n], {2: "a"}.get(n), bool(n)),
    "types": lambda x, n, p: (isinstance(n, int), isinstance(p, float), (x.double() * p).dtype, (x.int() * n).dtype),
    "dtypes": lambda x, n, p: (x.int() * p, x.int() + n, x.half() * p, (x > 0) * n, (x > 0) + p, x.to(tw.bfloat16) / n),
    "kept": lambda x, n, p: {"sum": n + p, "list": [n, (p, n * 2)], "half": n / 2, "floor": n // 2, "power": p**2},
}  # fmt: skip


def assigned(x, n, p):
    x[0] = p
    x[1, :n] = n
    return x


def plain(value):
    if isinstance(value, tw.Tensor):
        return value.dtype, value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return (type(value), value) if not isinstance(value, dict) else {key: plain(item) for key, item in value.items()}


@pytest.mark.parametrize("name", CASES)
def test_what_eager_mode_gives(name):
    static = tw.jit(CASES[name])
    x = tw.linspace(-2, 3, 36).reshape(6, 6)
    for n, p in ((2, 0.5), (3, 0.5), (3, 0.75), (2, 0.25)):
        tw.manual_seed(n)
        expected = plain(CASES[name](x, n, p))
        tw.manual_seed(n)
        assert plain(static(x, n, p)) == expected


def test_operations_without_a_formula_take_the_value():
    def f(x, n, m):
        whole, rest = divmod(n, m)
        bits = (n & 6) | (1 << m) ^ ~n, 3 & n, n >> 1, n.bit_length(), divmod(100, n), (2.0 * n).is_integer()
        return x * whole + rest, bits

    static, x = tw.jit(f), tw.ones(2)
    for n, m in ((13, 4), (9, 2), (13, 4)):
        (value, bits), (expected, wanted) = static(x, n, m), f(x, n, m)
        assert (value == expected).all() and bits == wanted
    assert static.trace_count == 2
