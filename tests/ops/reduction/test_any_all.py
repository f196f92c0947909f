import numpy as np
import thalweg as tw
from harness import check, sample


def dims(dim):
    return tuple(dim) if isinstance(dim, list) else dim


def test_any_all():
    samples = [sample((3, 4)), sample((3, 4), dim=1), sample((2, 3, 4), dim=[0, 2], keepdim=True), sample((0,))]
    check(tw.any, lambda x, dim=None, keepdim=False: np.any(x, dims(dim), keepdims=keepdim), samples, grad=False)
    check(tw.all, lambda x, dim=None, keepdim=False: np.all(x, dims(dim), keepdims=keepdim), samples, grad=False)
    flags = tw.tensor([[True, False], [True, True]])
    assert flags.all(1).tolist() == [False, True] and flags.any(0).tolist() == [True, True]
    assert tw.tensor([0, 3], dtype=tw.uint8).any().dtype == tw.uint8
    assert tw.tensor([float("nan")]).all().item() is True


def test_count_nonzero():
    x = tw.tensor([[0.0, 1.0, float("nan")], [0.0, 0.0, 2.0]])
    assert tw.count_nonzero(x) == 3
    assert tw.count_nonzero(x, dim=0).tolist() == [0, 1, 2]
    assert x.count_nonzero((0, 1)).dtype == tw.int64
