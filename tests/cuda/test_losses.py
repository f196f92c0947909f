"""Losses on CUDA that the op tests, which run on samples, leave out."""

import numpy as np
import pytest
import thalweg as tw
from against_cpu import make, same
from thalweg._registry import ops
from thalweg.nn import functional as F


def labels(shape, classes, seed=0):
    return tw.tensor(np.random.default_rng(seed).integers(0, classes, shape))


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_nll_loss_with_weights(reduction):
    for shape in [(300, 5), (2, 4, 9, 31)]:
        target = labels((shape[0], *shape[2:]), shape[1])
        target.view(-1)[3] = -100

        def loss(x, target, weight):
            return F.nll_loss(x, target, weight.detach(), reduction=reduction)  # noqa: B023

        same(loss, make(shape), target, make(shape[1], seed=1).abs())
    for target in (7, -1):
        with pytest.raises(IndexError, match=rf"nll_loss: target must be a class in \[0, 5\) .*got {target}"):
            F.nll_loss(make((2, 5)).cuda(), tw.tensor([0, target]).cuda()).item()


def ctc(padded, lengths, sizes, blank=0, zero_infinity=False):
    def loss(x, targets):
        return F.ctc_loss(x.log_softmax(2), targets, lengths, sizes, blank, "none", zero_infinity)

    same(loss, make((max(*lengths, 1), len(lengths), 9)), padded, tolerance=1e-4)


def test_ctc_loss():
    ctc(labels((3, 4), 8) + 1, [12, 9, 7], [4, 2, 0])
    ctc(labels((6,), 8), [12, 9, 7], [3, 2, 1], blank=8)
    # More states than a block has threads, classes that come again, and a target that holds the blank.
    ctc(tw.cat([labels((2, 50), 3) + 1, tw.zeros(2, 1, dtype=tw.int64)], 1), [150, 120], [51, 40])
    ctc(tw.tensor([[1, 1], [1, 2]]), [2, 2], [2, 2], zero_infinity=True)
    ctc(tw.tensor([[1], [1]]), [0, 3], [0, 1])


def test_impossible_alignments():
    x = tw.zeros(2, 1, 3).log_softmax(2).cuda()
    target = tw.tensor([[1, 1]]).cuda()
    assert ops.ctc_loss_each(x, target, [2], [2]).cpu().isinf().all()
    with pytest.raises(IndexError, match=r"ctc_loss: targets must be in \[0, 3\)"):
        ops.ctc_loss_each(x, target + 2, [2], [2])
    with pytest.raises(NotImplementedError, match="targets of 20000 classes are not supported on CUDA"):
        ops.ctc_loss_each(x, tw.ones(1, 20000, dtype=tw.int64, device="cuda"), [2], [20000])


def test_fused_ops():
    a, b, c = (make((5, 40), seed=seed) for seed in range(3))
    expected = (a * b + c).numpy()
    np.testing.assert_array_equal(ops.mul_add(a.cuda(), b.cuda(), c.cuda()).cpu().numpy(), expected)
    parts = [make((3, 4), seed=seed) for seed in range(3)]
    for dim in (0, 1, 2):
        got = ops.select_scatter_sum([part.cuda() for part in parts], dim).cpu()
        assert (got == tw.stack(parts, dim)).all()
    zeros = ops.select_scatter_sum([tw.tensor([-0.0, 1.0]).cuda()], 0).cpu()
    assert not np.signbit(zeros.numpy()).any()
    turned = ops.select_scatter_sum([tw.tensor([1 + 2j]).cuda(), tw.tensor([3 - 1j]).cuda()], 1).cpu()
    assert turned.tolist() == [[1 + 2j, 3 - 1j]]
