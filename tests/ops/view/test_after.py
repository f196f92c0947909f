import thalweg as tw
from harness import check, sample
from thalweg._registry import ops


def test_after():
    check(ops.after, lambda x, other: x, [sample((4, 5), (2,)), sample((), ()), sample((0, 3), (4, 1))])


def test_after_is_a_view():
    x = tw.zeros(2, 3)
    seen = ops.after(x.transpose(0, 1), tw.ones(1))
    seen.add_(1)
    assert seen.shape == (3, 2) and x.sum().item() == 6
