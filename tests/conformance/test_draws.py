"""The judges of draws and of tied indices say no to what they must not accept."""

import pytest
import thalweg as tw
import torch
from torch.testing._internal.opinfo.core import SampleInput

from . import draws, ties


def sample(*args, **kwargs):
    return SampleInput(args[0], args=args[1:], kwargs=kwargs)


ONES = torch.ones(2, 4)
CASES = {
    "uniform": (draws.uniform, sample(ONES, -1, 1), [[-1.0, 0.5]], [[0.5, 1.0]]),
    "randint": (draws.randint, sample(2, 5, (2,)), [2.0, 4.0], [2.0, 5.0]),
    "randint of halves": (draws.randint, sample(2, (2,)), [0.0, 1.0], [0.5, 1.0]),
    "randint_like": (draws.randint_like, sample(ONES, 3), [0.0, 2.0], [-1.0, 2.0]),
    "positive": (draws.positive, sample(ONES), [0.0, 3.0], [-1.0, 3.0]),
    "finite": (draws.finite, sample(ONES), [0.0, 3.0], [0.0, float("nan")]),
    "multinomial": (draws.multinomial, sample(torch.tensor([1.0, 2.0, 0.0]), 2), [1, 0], [1, 1]),
    "multinomial of weight 0": (draws.multinomial, sample(torch.tensor([1.0, 0.0]), 1), [0], [1]),
    "bernoulli": (draws.bernoulli, sample(ONES), [0.0, 1.0], [0.5, 1.0]),
    "dropout": (draws.dropout, sample(torch.tensor([3.0, 3.0]), p=0.25), [4.0, 0.0], [3.0, 0.0]),
    "rrelu": (draws.rrelu, sample(torch.tensor([2.0, -8.0])), [2.0, -2.0], [2.0, -4.0]),
}


@pytest.mark.parametrize("name", CASES)
def test_support(name):
    holds, given, good, bad = CASES[name]
    assert holds(given, tw.tensor(good)) is None
    assert holds(given, tw.tensor(bad)).startswith("support: ")


def test_channels_fall_whole():
    holds, given = draws.DRAWS["nn.functional.dropout2d"].holds, sample(torch.ones(1, 2, 1, 2), p=0.5)
    assert holds(given, tw.tensor([[[[0.0, 0.0]], [[2.0, 2.0]]]])) is None
    assert "in part" in holds(given, tw.tensor([[[[0.0, 2.0]], [[2.0, 2.0]]]]))


def test_dropped_attention():
    q, k, v = (torch.randn(2, 3, 4) for _ in range(3))
    given = sample(q, k, v, dropout_p=0.5)
    mine = [tw.tensor(x.numpy()) for x in (q, k, v)]
    tw.manual_seed(42)
    result = tw.nn.functional.scaled_dot_product_attention(*mine, dropout_p=0.5)
    assert draws.attention(given, result) is None
    assert draws.attention(given, result + 0.5).startswith("value: ")


@pytest.mark.parametrize("indices", [[1, 0, 3], [1, 2, 3]])
def test_ties_may_stand_in_any_order(indices):
    given = sample(torch.tensor([5.0, 7.0, 5.0, 1.0]), 3)
    values = torch.tensor([7.0, 5.0, 1.0])
    got = (tw.tensor([7.0, 5.0, 1.0]), tw.tensor(indices))
    assert ties.agree("topk", given, (values, torch.tensor([1, 0, 3])), got) is None


@pytest.mark.parametrize("indices", [[1, 3, 3], [1, 1, 3], [1, 2, 4]])
def test_indices_point_at_the_values(indices):
    given = sample(torch.tensor([5.0, 7.0, 5.0, 1.0]), 3)
    got = (tw.tensor([7.0, 5.0, 1.0]), tw.tensor(indices))
    want = (torch.tensor([7.0, 5.0, 1.0]), torch.tensor([1, 0, 3]))
    assert ties.agree("topk", given, want, got).startswith("value: ")
