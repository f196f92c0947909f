import os
import subprocess
import sys

import numpy as np
import pytest
import thalweg as tw
from harness import array, check, sample
from thalweg._registry import LINALG
from thalweg._registry import NN_FUNCTIONS as F


def test_diagonals_of_matrices():
    check(LINALG["diagonal"], lambda x, offset: np.diagonal(x, offset, -2, -1), [sample((2, 3, 4), offset=1)])


def test_tensordot_and_kron():
    check(tw.tensordot, np.tensordot, [sample((2, 3, 4), (3, 4, 5), 2), sample((2, 3), (4,), 0)])
    check(tw.tensordot, np.tensordot, [sample((2, 3, 4), (4, 5, 2), [[0, 2], [2, 0]])])
    check(tw.tensordot, np.tensordot, [sample((2, 3), (3, 4), axes=((1,), (0,)))])  # NumPy's name
    check(tw.kron, np.kron, [sample((2, 3), (4, 2)), sample((2,), (3, 2)), sample((2, 2, 2), (2, 1, 3))])


def test_cross():
    check(tw.cross, np.cross, [sample((4, 3), (4, 3))])
    check(LINALG["cross"], np.cross, [sample((2, 4, 3), (1, 4, 3))])
    with pytest.raises(RuntimeError, match="cross: a dim of size 3 is wanted"):
        tw.cross(tw.ones(2), tw.ones(2))


def test_trace():
    check(tw.trace, np.trace, [sample((3, 4)), sample((0, 2))])


def test_chains():
    arrays = [array(s) for s in ((10,), (10, 3), (3, 20), (20, 2), (2,))]
    got = LINALG["multi_dot"]([tw.tensor(a) for a in arrays])
    np.testing.assert_allclose(got.numpy(), np.linalg.multi_dot(arrays), rtol=1e-12)
    matrices = [tw.tensor(a) for a in arrays[1:4]]
    np.testing.assert_allclose(tw.chain_matmul(*matrices).numpy(), np.linalg.multi_dot(arrays[1:4]), rtol=1e-12)


def test_matrix_power():
    for n in (0, 1, 2, 5):
        check(lambda x, n=n: tw.matrix_power(x, n), lambda x, n=n: np.linalg.matrix_power(x, n), [sample((2, 3, 3))])
    a = tw.tensor(array((3, 3)))
    np.testing.assert_allclose(LINALG["matrix_power"](a, 3).numpy(), np.linalg.matrix_power(a.numpy(), 3), rtol=1e-12)


def test_other_names():
    check(LINALG["matmul"], np.matmul, [sample((2, 3), (3, 2))])
    check(LINALG["vecdot"], lambda x, y: (x * y).sum(-1), [sample((2, 3), (2, 3))])


def test_bilinear():
    def reference(a, b, w, bias=0.0):
        return np.einsum("...i,oij,...j->...o", a, w, b) + bias

    check(F["bilinear"], reference, [sample((2, 3), (2, 4), (5, 3, 4), (5,)), sample((3,), (4,), (5, 3, 4))])


def test_tensordot_of_integers_sums_in_their_dtype():
    a, b = tw.tensor([[[3]]], dtype=tw.uint8), tw.ones(2, 1, 2, dtype=tw.uint8)
    got = tw.tensordot(a, b, dims=([0, 1], [2, 0]))
    assert got.dtype == tw.uint8 and got.tolist() == [[12]]


# Whole and in tiles, by either library, with inner sums in one piece and in several.
PRODUCTS = [
    ((64, 512, 784), ""),
    ((64, 512, 784), "b"),
    ((512, 784, 64), "a"),
    ((30, 1, 5000), ""),
    ((1, 700, 900), "b"),
    ((2, 3000, 700), "ab"),
    ((333, 521, 1030), ""),
    ((530, 270, 1100), "a"),
    ((257, 1021, 700), "ab"),
    ((100, 100, 3001), "a"),
]


@pytest.mark.parametrize("dtype", [tw.float32, tw.float64, tw.complex64], ids=str)
@pytest.mark.parametrize(("sizes", "transposed"), PRODUCTS)
def test_products_of_any_shape_are_right_and_the_same_on_any_number_of_threads(sizes, transposed, dtype):
    m, n, k = sizes
    a, b, c = (tw.tensor(array(shape), dtype=dtype) for shape in ((m, k), (k, n), (m, n)))
    left = a.t().contiguous().t() if "a" in transposed else a
    right = b.t().contiguous().t() if "b" in transposed else b
    threads, results = tw.get_num_threads(), []
    try:
        for count in (1, 2, 3):
            tw.set_num_threads(count)
            results.append(tw.addmm(c, left, right, beta=0.5, alpha=-2).numpy())
    finally:
        tw.set_num_threads(threads)
    wide = np.complex128 if dtype.is_complex else np.float64
    exact = 0.5 * c.numpy().astype(wide) - 2 * (a.numpy().astype(wide) @ b.numpy().astype(wide))
    np.testing.assert_allclose(results[0], exact, rtol=0, atol=2e-6 * k)
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])


# The kernels of BLAS and of oneDNN for other processors than this one.
@pytest.mark.parametrize("core", ["Haswell", "Sandybridge", "Nehalem"])
def test_products_are_the_same_on_any_number_of_threads_of_other_processors(core):
    isa = {"Haswell": "AVX2", "Sandybridge": "AVX", "Nehalem": "SSE41"}[core]
    program = f"import pytest, sys; sys.exit(pytest.main(['-q', '-k', 'of_any_shape', {__file__!r}]))"
    environment = {**os.environ, "OPENBLAS_CORETYPE": core, "ONEDNN_MAX_CPU_ISA": isa}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-2000:]


def test_rows_beside_a_product_stay_as_they_are():
    """In place on part of a tensor: NaN around the factors and the sum is neither read nor written."""
    whole = tw.full((260, 530), float("nan"))
    a, b = whole[1:257, 3:259], whole[2:258, 260:516]
    a.copy_(tw.eye(256)), b.copy_(tw.ones(256, 256))
    total = tw.full((258, 258), float("nan"))
    inside = total[1:257, 1:257]
    inside.zero_()
    inside.addmm_(a, b)
    assert (inside == 1).all()
    assert int(total.isnan().sum()) == 258 * 258 - 256 * 256
