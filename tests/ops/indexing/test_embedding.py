import numpy as np
import pytest
import thalweg as tw
from harness import Sample, array, check
from thalweg._registry import ops

TABLE = array((6, 4))
INDICES = np.array([[0, 5, 2], [2, 2, 1]])


def test_lookup_and_its_gradient():
    check(ops.embedding_lookup, lambda w, i, *_: w[i], [Sample((TABLE, INDICES)), Sample((TABLE, INDICES[0]))],
          dtypes=("float32", "float64", "bfloat16"))  # fmt: skip


def test_backward():
    def reference(grad, indices, rows, padding, by_frequency):
        result = np.zeros((rows, grad.shape[-1]))
        np.add.at(result, indices, grad)
        if by_frequency:
            result /= np.maximum(np.bincount(indices.reshape(-1), minlength=rows), 1)[:, None]
        if padding >= 0:
            result[padding] = 0
        return result

    grad = array((2, 3, 4), seed=1)
    samples = [Sample((grad, INDICES, 6, padding, scale)) for padding in (-1, 2) for scale in (False, True)]
    check(ops.embedding_backward, reference, samples)


def test_padding_row_gets_no_gradient():
    indices = np.random.default_rng(0).integers(0, 10, (256, 3, 7))
    table = tw.tensor(array((10, 5)), requires_grad=True)
    tw.nn.functional.embedding(tw.tensor(indices), table, padding_idx=0).sum().backward()
    expected = np.repeat(np.bincount(indices.reshape(-1), minlength=10)[:, None], 5, 1)
    expected[0] = 0
    np.testing.assert_array_equal(table.grad.numpy(), expected)
    given = tw.nn.Embedding.from_pretrained(tw.ones(10, 5), padding_idx=0)
    assert given.weight[0].tolist() == [1] * 5


@pytest.mark.parametrize("norm_type", [1.0, 2.0, 3.0, float("inf")])
def test_rows_read_are_scaled_to_max_norm(norm_type):
    table = tw.tensor(TABLE)
    norms = np.linalg.norm(TABLE, norm_type, axis=1)
    limit = float(np.median(norms))
    result = tw.nn.functional.embedding(tw.tensor(INDICES), table, max_norm=limit, norm_type=norm_type)
    factors = np.where(norms > limit, limit / (norms + 1e-7), 1)
    factors[[3, 4]] = 1  # not read
    np.testing.assert_allclose(table.numpy(), TABLE * factors[:, None])
    np.testing.assert_array_equal(result.numpy(), table.numpy()[INDICES])
    assert ops.embedding_renorm(table, tw.tensor([0]), 1e-3).shape == (6, 4)


def test_bad_indices_are_refused():
    for bad in ([6], [-1]):
        with pytest.raises(IndexError, match="out of bounds"):
            tw.nn.functional.embedding(tw.tensor(bad), tw.tensor(TABLE))
    with pytest.raises(TypeError):
        tw.nn.functional.embedding(tw.tensor([0.5]), tw.tensor(TABLE))


def bags_of(mode, padding=None, weights=None):
    def reference(indices, table, offsets):
        edges = [*offsets, len(indices)]
        rows = []
        for a, b in zip(edges, edges[1:], strict=False):
            kept = [i for i in range(a, b) if indices[i] != padding]
            bag = table[indices[kept]] * (1 if weights is None else weights[kept][:, None])
            fold = {"sum": np.sum, "mean": np.mean, "max": np.max}[mode]
            rows.append(fold(bag, 0) if len(bag) else np.zeros(table.shape[1]))
        return np.stack(rows)

    return reference


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("padding", [None, 2])
def test_bags(mode, padding):
    flat, offsets = np.array([0, 2, 5, 1, 1]), np.array([0, 2, 2, 3])

    def bag(indices, table, offsets):
        return tw.nn.functional.embedding_bag(indices, table, offsets, mode=mode, padding_idx=padding)

    check(bag, bags_of(mode, padding), [Sample((flat, TABLE, offsets))])
    rows = tw.nn.functional.embedding_bag(tw.tensor(INDICES), tw.tensor(TABLE), mode=mode, padding_idx=padding)
    expected = bags_of(mode, padding)(INDICES.reshape(-1), TABLE, np.array([0, 3]))
    np.testing.assert_allclose(rows.numpy(), expected)


def test_weighted_bags():
    flat, offsets, weights = np.array([0, 2, 5]), np.array([0, 1, 3]), array((3,), seed=3)

    def bag(indices, table, offsets, weights):
        return tw.nn.functional.embedding_bag(
            indices, table, offsets, mode="sum", per_sample_weights=weights, include_last_offset=True
        )

    check(bag, lambda i, t, o, w: bags_of("sum", None, w)(i, t, o[:-1]), [Sample((flat, TABLE, offsets, weights))])
    with pytest.raises(NotImplementedError, match="sum"):
        tw.nn.functional.embedding_bag(tw.tensor([[0]]), tw.tensor(TABLE), mode="max", per_sample_weights=tw.ones(1, 1))
