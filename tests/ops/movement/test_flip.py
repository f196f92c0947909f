import numpy as np
import pytest
import thalweg as tw
from harness import Sample, array, check, sample
from thalweg._registry import ops


def test_flip():
    check(
        tw.flip, lambda x, dims: np.flip(x, dims), [sample((2, 3, 4), [0, 2]), sample((5,), [0]), sample((0, 2), [1])]
    )
    check(tw.fliplr, np.fliplr, [sample((2, 3))])
    check(tw.flipud, np.flipud, [sample((2, 3))])


def test_roll():
    def reference(x, shifts, dims=None):
        return np.roll(x, shifts, tuple(dims) if isinstance(dims, list) else dims)

    check(tw.roll, reference, [sample((2, 3), 1), sample((2, 3), -4, 1), sample((3, 4), [1, -1], dims=[0, 1])])


@pytest.mark.parametrize("k", range(-1, 5))
def test_rot90(k):
    check(tw.rot90, np.rot90, [sample((2, 3), k=k)])


@pytest.mark.parametrize("diagonal", [-3, -1, 0, 1, 5])
def test_triangles(diagonal):
    samples = [Sample((array(shape), diagonal)) for shape in [(3, 4), (2, 4, 3), (0, 3)]]
    check(tw.tril, np.tril, samples, inplace="tril_")
    check(tw.triu, np.triu, samples, inplace="triu_")
    rows, columns = tw.tril_indices(3, 4, diagonal)
    np.testing.assert_array_equal([rows.numpy(), columns.numpy()], np.tril_indices(3, diagonal, 4))
    rows, columns = tw.triu_indices(3, 4, diagonal)
    np.testing.assert_array_equal([rows.numpy(), columns.numpy()], np.triu_indices(3, diagonal, 4))


NUMPY_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@pytest.mark.parametrize("mode", NUMPY_MODES)
@pytest.mark.parametrize("pad", [(1, 2), (2, 0, 1, 1), (1, 1, 0, 2, 2, 1)])
def test_pad_as_numpy(mode, pad):
    def reference(x, pad, mode):
        widths = [(0, 0)] * (x.ndim - len(pad) // 2) + [pad[i : i + 2] for i in range(len(pad) - 2, -1, -2)]
        return np.pad(x, widths, NUMPY_MODES[mode])

    shape = (1, 2, 3, 4, 3)[5 - len(pad) // 2 - 1 :]
    check(tw.nn.functional.pad, reference, [Sample((array(shape), pad), {"mode": mode})], sbp=False)


def test_negative_pads_crop():
    x = array((3, 5))
    check(tw.nn.functional.pad, lambda x, pad: np.pad(x[1:, :-2], ((0, 1), (1, 0))), [Sample((x, (1, -2, -1, 1)))])
    check(ops.pad_constant, lambda x, pad, value: np.pad(x, ((0, 0), (1, 2)), constant_values=7),
          [Sample((x, [1, 2], 7))])  # fmt: skip
    wide = np.pad(x[:, 1:], ((0, 0), (0, 3)), "wrap")
    check(tw.nn.functional.pad, lambda x, pad, mode: wide, [Sample((x, (-1, 3)), {"mode": "circular"})])


@pytest.mark.parametrize(
    "pad, mode",
    [
        ((3, 0), "reflect"),
        ((4, 0), "circular"),
        ((1,), "constant"),
        ((-4, -4), "constant"),
        ((2**63 - 1, 1), "constant"),
    ],
)
def test_pads_that_do_not_fit_are_refused(pad, mode):
    with pytest.raises((ValueError, RuntimeError), match="pad"):
        tw.nn.functional.pad(tw.ones(1, 3), pad, mode=mode)


def test_diagonals_far_outside_select_all_or_nothing():
    x, far = tw.ones(2, 3), 2**63 - 1
    assert tw.triu(x, far).sum().item() == 0 and tw.tril(x, far).sum().item() == 6
    assert tw.triu(x, -far).sum().item() == 6 and tw.tril(x, -far).sum().item() == 0
