"""Embedding and EmbeddingBag."""

import numpy as np
import pytest
import thalweg as tw
from thalweg import nn


def test_embedding_reads_rows_and_leaves_the_padding_row_alone():
    table = nn.Embedding(5, 3, padding_idx=-1)
    assert table.padding_idx == 4 and table.weight[4].abs().sum().item() == 0
    index = tw.tensor([[0, 4], [2, 0]])
    out = table(index)
    np.testing.assert_array_equal(out.detach().numpy(), table.weight.detach().numpy()[index.numpy()])
    out.sum().backward()
    assert table.weight.grad[:, 0].tolist() == [2.0, 0.0, 1.0, 0.0, 0.0]


def test_max_norm_scales_the_rows_that_are_read():
    table = nn.Embedding.from_pretrained(tw.tensor([[3.0, 4.0], [3.0, 4.0]]), max_norm=1.0)
    table(tw.tensor([0]))
    np.testing.assert_allclose(table.weight.numpy(), [[0.6, 0.8], [3, 4]], rtol=1e-5)


def test_from_pretrained():
    weights = tw.arange(6.0).reshape(3, 2)
    table = nn.Embedding.from_pretrained(weights)
    assert not table.weight.requires_grad and table(tw.tensor(1)).tolist() == [2.0, 3.0]
    assert nn.EmbeddingBag.from_pretrained(weights, freeze=False, mode="sum").weight.requires_grad


@pytest.mark.parametrize(("mode", "reduce"), [("sum", np.sum), ("mean", np.mean), ("max", np.max)])
def test_embedding_bag(mode, reduce):
    table = nn.EmbeddingBag(6, 3, mode=mode)
    rows = table.weight.detach().numpy()
    flat = table(tw.tensor([1, 2, 4, 5]), tw.tensor([0, 3])).detach().numpy()
    np.testing.assert_allclose(flat, [reduce(rows[[1, 2, 4]], axis=0), rows[5]], rtol=1e-6)
    square = table(tw.tensor([[1, 2], [4, 5]])).detach().numpy()
    np.testing.assert_allclose(square, [reduce(rows[[1, 2]], axis=0), reduce(rows[[4, 5]], axis=0)], rtol=1e-6)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: nn.Embedding(3, 2, padding_idx=3), ValueError),
        (lambda: nn.Embedding(3, 2, _weight=tw.ones(2, 2)), ValueError),
        (lambda: nn.Embedding.from_pretrained(tw.ones(3)), ValueError),
        (lambda: nn.Embedding(3, 2)(tw.tensor([3])), IndexError),
    ],
)
def test_errors(make, error):
    with pytest.raises(error):
        make()
