import numpy as np
import pytest
import thalweg as tw
from harness import check, sample


def test_addmm():
    def reference(x, a, b, beta=1, alpha=1):
        return beta * x + alpha * (a @ b)

    samples = [sample((3, 5), (3, 4), (4, 5)), sample((5,), (3, 4), (4, 5), beta=0.5, alpha=2.0)]
    samples += [sample((1, 1), (3, 0), (0, 5), beta=2), sample((), (0, 4), (4, 5))]
    check(tw.addmm, reference, samples)
    check(
        tw.baddbmm, reference, [sample((2, 3, 5), (2, 3, 4), (2, 4, 5), beta=0.5), sample((5,), (2, 3, 4), (2, 4, 5))]
    )


def test_addmm_in_place_on_strided_memory():
    x = tw.zeros(5, 3).transpose(0, 1)
    x.addmm_(tw.ones(3, 4), tw.ones(4, 5), alpha=2)
    assert x.tolist() == [[8.0] * 5] * 3


def test_addmm_without_input_ignores_its_nan():
    nan = tw.full((2, 2), float("nan"))
    assert tw.addmm(nan, tw.ones(2, 3), tw.ones(3, 2), beta=0).tolist() == [[3.0, 3.0]] * 2
    assert tw.addr(nan, tw.ones(2), tw.ones(2), beta=0).tolist() == [[1.0, 1.0]] * 2


def test_sums_written_with_addmm():
    check(tw.addmv, lambda x, a, v: x + a @ v, [sample((3,), (3, 4), (4,)), sample((), (3, 4), (4,))])
    check(tw.addbmm, lambda x, a, b: x + (a @ b).sum(0), [sample((3, 5), (2, 3, 4), (2, 4, 5))])
    check(tw.addr, lambda x, a, b: x + np.outer(a, b), [sample((3, 4), (3,), (4,))])


def test_int_tensors_take_no_float_factor():
    ones = tw.ones(2, 2, dtype=tw.int64)
    assert tw.addmm(ones, ones, ones, alpha=3).tolist() == [[7, 7], [7, 7]]
    with pytest.raises(RuntimeError, match="addmm: beta and alpha"):
        tw.addmm(ones, ones, ones, alpha=0.5)


def test_addr_of_bools_stays_among_bools():
    x, v, w = tw.tensor([[True, False]]), tw.tensor([True]), tw.tensor([True, False])
    assert tw.addr(x, v, w, beta=3, alpha=2).tolist() == [[True, False]]
    assert tw.addr(x, v, w, beta=0, alpha=2).tolist() == [[True, False]]
    assert tw.addr(~x, v, w, beta=2, alpha=0).tolist() == [[False, True]]
