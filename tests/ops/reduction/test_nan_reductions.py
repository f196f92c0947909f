import numpy as np
import pytest
import thalweg as tw
from harness import Sample, array, check


def test_nansum_nanmean():
    x = array((3, 4))
    x[0, 1] = x[2, 3] = np.nan
    samples = [Sample((x,)), Sample((x,), {"dim": 1}), Sample((x,), {"dim": 0, "keepdim": True})]
    check(tw.nansum, lambda x, dim=None, keepdim=False: np.nansum(x, dim, keepdims=keepdim), samples, grad=False)
    check(tw.nanmean, lambda x, dim=None, keepdim=False: np.nanmean(x, dim, keepdims=keepdim), samples, grad=False)
    t = tw.tensor(x, requires_grad=True)
    t.nansum().backward()
    np.testing.assert_array_equal(t.grad.numpy(), ~np.isnan(x))
    with pytest.raises(RuntimeError, match="nanmean"):
        tw.nanmean(tw.tensor([1]))
