import numpy as np
import pytest
import thalweg as tw
from harness import array, check, sample

F = tw.nn.functional


def group_norm(x, groups, weight=None, bias=None, eps=1e-5):
    rows = x.reshape(x.shape[0], groups, -1)
    y = ((rows - rows.mean(2, keepdims=True)) / np.sqrt(rows.var(2, keepdims=True) + eps)).reshape(x.shape)
    shape = [1, -1] + [1] * (x.ndim - 2)
    y = y if weight is None else y * weight.reshape(shape)
    return y if bias is None else y + bias.reshape(shape)


def test_group_norm():
    samples = [sample((2, 4, 3), 2, (4,), (4,)), sample((2, 6), 3), sample((3, 4, 2, 2), 1, (4,), None)]
    check(F.group_norm, group_norm, samples)
    with pytest.raises(RuntimeError, match="num_groups"):
        F.group_norm(tw.ones(2, 3), 2)


def test_instance_norm():
    check(
        F.instance_norm,
        lambda x, *a: group_norm(x, x.shape[1], *a[2:]),
        [sample((2, 3, 5)), sample((2, 3, 5), None, None, (3,), (3,))],
    )
    x = array((2, 3, 5))
    mean, var = tw.zeros(3, dtype=tw.float64), tw.ones(3, dtype=tw.float64)
    F.instance_norm(tw.tensor(x), mean, var, momentum=0.5)
    np.testing.assert_allclose(mean.numpy(), 0.5 * x.mean((0, 2)))
    np.testing.assert_allclose(var.numpy(), 0.5 + 0.5 * x.var(2, ddof=1).mean(0))
    y = F.instance_norm(tw.tensor(x), mean, var, use_input_stats=False)
    np.testing.assert_allclose(y.numpy(), (x - mean.numpy()[:, None]) / np.sqrt(var.numpy()[:, None] + 1e-5))


def test_local_response_norm():
    def reference(x, size, alpha=1e-4, beta=0.75, k=1.0):
        total = np.zeros_like(x)
        for c in range(x.shape[1]):
            window = x[:, max(0, c - size // 2) : c + (size - 1) // 2 + 1]
            total[:, c] = (window**2).sum(1)
        return x / (k + alpha * total / size) ** beta

    check(
        F.local_response_norm,
        reference,
        [sample((2, 5, 3), 3, 0.1), sample((1, 4, 2, 2), 2, 0.5, 0.5, 2.0), sample((1, 2, 3), 5, 1.0)],
    )


def test_normalize():
    check(
        F.normalize,
        lambda x, p=2, dim=1: x / np.linalg.norm(x, p, dim, keepdims=True),
        [sample((3, 4)), sample((3, 4), p=1, dim=0)],
    )
    assert F.normalize(tw.zeros(1, 3)).tolist() == [[0.0, 0.0, 0.0]]


def test_local_response_norm_of_integers_has_whole_means():
    x = tw.tensor([[[3], [4], [5]]])
    expected = [3 / (1 + 9 // 2), 4 / (1 + 25 // 2), 5 / (1 + 41 // 2)]
    got = F.local_response_norm(x, 2, alpha=1.0, beta=1.0).flatten().tolist()
    np.testing.assert_allclose(got, expected, rtol=1e-6)
