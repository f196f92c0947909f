"""Creation and random functions with placement and sbp: the numbers that one device would have."""

import subprocess
import sys

import numpy as np
import pytest
import thalweg as tw

S, B, P = tw.sbp.split, tw.sbp.broadcast, tw.sbp.partial_sum
LINE = tw.placement("cpu", [0, 1, 2, 3])
MESH = tw.placement("cpu", [[3, 1], [2, 0]])
PLACES = [(LINE, S(0)), (LINE, S(-1)), (LINE, B), (LINE, P), (MESH, [S(0), S(0)]), (MESH, [B, S(0)])]

CREATE = {
    "zeros": lambda **k: tw.zeros(5, 6, **k),
    "ones": lambda **k: tw.ones((5, 6), dtype=tw.int64, **k),
    "full": lambda **k: tw.full((5, 6), 2.5, **k),
    "tensor": lambda **k: tw.tensor([[1, 2, 3], [4, 5, 6]], **k),
    "arange": lambda **k: tw.arange(2, 13, 2, **k),
    "linspace": lambda **k: tw.linspace(0, 1, 7, **k),
    "eye": lambda **k: tw.eye(5, **k),
    "rand": lambda **k: tw.rand(5, 6, **k),
    "randn": lambda **k: tw.randn(5, 6, **k),
    "randint": lambda **k: tw.randint(0, 100, (5, 6), **k),
    "randperm": lambda **k: tw.randperm(11, **k),
}


@pytest.mark.parametrize("where, how", PLACES)
@pytest.mark.parametrize("name", CREATE)
def test_same_numbers_everywhere(name, where, how):
    make = CREATE[name]
    tw.manual_seed(3)
    expected = make()
    after = tw.rand(3).numpy()
    tw.manual_seed(3)
    found = make(placement=where, sbp=how)
    assert found.is_global and found.placement == where and found.is_leaf
    assert found.dtype == expected.dtype
    (np.testing.assert_allclose if name == "randn" else np.testing.assert_array_equal)(found.numpy(), expected.numpy())
    np.testing.assert_array_equal(tw.rand(3).numpy(), after)


def test_empty_and_requires_grad():
    x = tw.empty(4, 4, placement=LINE, sbp=S(1), requires_grad=True)
    assert x.sbp == (S(1),) and x.requires_grad and x.is_leaf
    with pytest.raises(ValueError, match="together"):
        tw.zeros(3, placement=LINE)


def test_like_and_new():
    x = tw.randn(6, 4, placement=LINE, sbp=S(0))
    for y in (
        tw.zeros_like(x),
        tw.ones_like(x),
        tw.full_like(x, 2),
        tw.empty_like(x),
        tw.rand_like(x),
        tw.randn_like(x),
    ):
        assert y.placement == LINE and y.sbp == (S(0),) and y.shape == x.shape
    pending = x.to_global(sbp=P)
    assert tw.zeros_like(pending).sbp == (B,)
    assert tw.zeros_like(x, sbp=B).sbp == (B,)
    for y in (x.new_zeros(3), x.new_ones(3), x.new_full((3,), 2), x.new_empty(3), x.new_tensor([1, 2, 3])):
        assert y.placement == LINE and y.sbp == (B,)
    assert x.new_zeros(8, sbp=S(0)).sbp == (S(0),)


def test_dropout_and_draws_on_existing_tensors():
    tw.manual_seed(0)
    plain = tw.nn.functional.dropout(tw.ones(64, 8), 0.5)
    tw.manual_seed(0)
    spread = tw.nn.functional.dropout(tw.ones(64, 8, placement=LINE, sbp=S(0)), 0.5)
    np.testing.assert_array_equal(spread.numpy(), plain.numpy())
    tw.manual_seed(1)
    plain = tw.empty(9, 5).uniform_()
    tw.manual_seed(1)
    np.testing.assert_array_equal(tw.empty(9, 5, placement=MESH, sbp=[S(1), S(0)]).uniform_().numpy(), plain.numpy())
    tw.manual_seed(2)
    plain = tw.bernoulli(tw.full((9, 5), 0.3))
    tw.manual_seed(2)
    found = tw.bernoulli(tw.full((9, 5), 0.3, placement=LINE, sbp=S(0)))
    np.testing.assert_array_equal(found.numpy(), plain.numpy())


def test_first_global_tensor_of_a_process():
    code = "import thalweg as tw; p = tw.placement('cpu', [0]); print(tw.ones(2, placement=p, sbp=tw.sbp.split(0)).sbp)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "(sbp.split(0),)", done.stderr


def test_composites_make_their_constants_beside_their_inputs():
    q = tw.randn(2, 4, 6, 8)
    g = q.to_global(LINE, S(1))
    functional = tw.nn.functional
    found = functional.scaled_dot_product_attention(g, g, g, is_causal=True, dropout_p=1e-12)
    expected = functional.scaled_dot_product_attention(q, q, q, is_causal=True)
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-4, atol=1e-5)
    classes = tw.tensor([0, 3, 1, 2])
    hot = functional.one_hot(classes.to_global(LINE, S(0)), 4)
    np.testing.assert_array_equal(hot.numpy(), functional.one_hot(classes, 4).numpy())
    rnn = tw.nn.GRU(3, 4)
    x = tw.randn(5, 2, 3)
    expected = rnn(x)[0].detach().numpy()
    rnn.to_global(LINE, B)
    np.testing.assert_allclose(rnn(x.to_global(LINE, B))[0].detach().numpy(), expected, rtol=1e-5, atol=1e-6)
