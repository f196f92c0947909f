import numpy as np
import pytest
import thalweg as tw
from harness import Sample, check
from matrices import check_gradients, matrices

SHAPES = [(3, 3), (4, 2), (2, 4), (2, 3, 4, 3), (3, 0), (0, 3)]


@pytest.mark.parametrize("mode", ["reduced", "complete"])
def test_qr(mode):
    samples = [Sample((matrices(*shape),), {"mode": mode}) for shape in SHAPES]
    check(
        tw.linalg.qr,
        lambda x, mode: tuple(np.linalg.qr(x, mode)),
        samples,
        grad=False,
        dtypes=("float32", "float64", "complex64", "complex128"),
    )


def test_r_alone():
    q, r = tw.linalg.qr(tw.tensor(matrices(2, 4, 3)), "r")
    assert q.shape == (0,)
    np.testing.assert_allclose(r.numpy(), np.linalg.qr(matrices(2, 4, 3), "r"), atol=1e-12)


def test_complex():
    x = matrices(3, 4, 3, is_complex=True)
    q, r = tw.linalg.qr(tw.tensor(x))
    np.testing.assert_allclose((q @ r).numpy(), x, atol=1e-12)
    np.testing.assert_allclose((q.mH @ q).numpy(), np.broadcast_to(np.eye(3), (3, 3, 3)), atol=1e-12)
    assert np.abs(np.tril(r.numpy(), -1)).max() == 0


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)])
def test_gradients(shape, is_complex):
    check_gradients(tw.linalg.qr, matrices(*shape, is_complex=is_complex))
    check_gradients(lambda x: tw.linalg.qr(x)[0], matrices(*shape, is_complex=is_complex))
    check_gradients(lambda x: tw.linalg.qr(x)[1], matrices(*shape, is_complex=is_complex))
    if shape[0] <= shape[1]:
        check_gradients(lambda x: tw.linalg.qr(x, "complete"), matrices(*shape, is_complex=is_complex))


def test_old_name():
    x = tw.tensor(matrices(4, 2))
    assert tw.qr(x).Q.shape == (4, 2) and tw.qr(x, some=False).Q.shape == (4, 4)


def test_what_has_no_gradient_says_so():
    x = tw.tensor(matrices(4, 2), requires_grad=True)
    with pytest.raises(RuntimeError, match="mode 'r'"):
        tw.linalg.qr(x, "r")[1].sum().backward()
    with pytest.raises(RuntimeError, match="more rows than columns"):
        tw.linalg.qr(x, "complete")[1].sum().backward()
    with pytest.raises(RuntimeError, match="mode must be"):
        tw.linalg.qr(x, "full")
