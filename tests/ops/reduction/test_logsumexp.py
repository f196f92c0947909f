import numpy as np
import thalweg as tw
from harness import check, sample


def logsumexp(x, dim, keepdim=False):
    dim = tuple(dim) if isinstance(dim, list) else dim
    return np.log(np.exp(x).sum(dim, keepdims=keepdim))


def test_logsumexp():
    samples = [sample((3, 4), dim=1), sample((3, 4), dim=0, keepdim=True), sample((2, 3, 4), dim=[0, 2])]
    check(tw.logsumexp, logsumexp, samples)
    check(tw.special.logsumexp, logsumexp, samples[:1])
    inf = float("inf")
    x = tw.tensor([[-inf, -inf], [inf, 1.0], [1000.0, 1000.0]])
    np.testing.assert_allclose(tw.logsumexp(x, 1).numpy(), [-inf, inf, 1000 + np.log(2)], rtol=1e-6)
    nan = tw.tensor([[float("nan"), 1.0], [inf, float("nan")], [float("nan"), -inf]])
    assert tw.isnan(tw.logsumexp(nan, 1)).all()
    assert tw.logsumexp(tw.tensor([0, 0]), 0).dtype == tw.float32
