import numpy as np
import pytest
import thalweg as tw
from harness import Sample, array, check, sample


def parts(*shapes):
    return [array(shape, seed=i) for i, shape in enumerate(shapes)]


def test_cat():
    samples = [
        Sample((parts((2, 3), (4, 3)),)),
        Sample((parts((2, 3), (2, 1), (2, 0)),), {"dim": -1}),
        Sample(
            (
                parts(
                    (5,),
                ),
            )
        ),
    ]
    check(tw.cat, lambda x, dim=0: np.concatenate(x, dim), samples)
    for alias in (tw.concat, tw.concatenate):
        check(alias, lambda x, dim=0: np.concatenate(x, dim), samples[:1])


def test_cat_promotes_and_skips_empty_vectors():
    result = tw.cat([tw.tensor([]), tw.tensor([[1, 2]]), tw.tensor([[0.5, 1.5]])])
    assert result.dtype == tw.float32
    assert result.tolist() == [[1, 2], [0.5, 1.5]]


def test_stack():
    samples = [Sample((parts((2, 3), (2, 3)),), {"dim": d}) for d in (0, 1, -1)]
    check(tw.stack, lambda x, dim: np.stack(x, dim), samples)


@pytest.mark.parametrize("name", ["hstack", "vstack", "dstack", "column_stack"])
@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 3, 2)])
def test_stacks_of_numpy(name, shape):
    check(getattr(tw, name), getattr(np, name), [Sample((parts(shape, shape),))])
    assert tw.row_stack([tw.ones(2), tw.zeros(2)]).tolist() == [[1, 1], [0, 0]]


@pytest.mark.parametrize(
    "call",
    [
        lambda: tw.cat([]),
        lambda: tw.cat([tw.ones(2, 3), tw.ones(3, 2)]),
        lambda: tw.cat([tw.ones(()), tw.ones(())]),
        lambda: tw.stack([tw.ones(2), tw.ones(3)]),
        lambda: tw.cat([tw.ones(2)], dim=1),
    ],
)
def test_what_does_not_fit_is_refused(call):
    with pytest.raises((ValueError, IndexError, RuntimeError)):
        call()


def test_splits():
    x = array((5, 4))
    for cut in (2, [1, 4], 7):
        edges = np.cumsum(cut)[:-1] if isinstance(cut, list) else range(cut, 5, cut)
        check(tw.split, lambda x, cut, edges=edges: np.split(x, edges), [Sample((x, cut))])
    check(tw.split_with_sizes, lambda x, s, dim: np.split(x, [1], dim), [Sample((x, [1, 3]), {"dim": 1})])
    check(tw.chunk, lambda x, n: np.split(x, [2, 4]), [Sample((x, 3))])
    check(tw.tensor_split, lambda x, n: np.array_split(x, n), [Sample((x, 3)), Sample((x, [1, 3]))])
    check(tw.unbind, lambda x, dim: list(np.moveaxis(x, dim, 0)), [Sample((x,), {"dim": 1})])
    check(tw.hsplit, np.hsplit, [Sample((x, 2))])
    check(tw.vsplit, np.vsplit, [Sample((x, [2]))])
    check(tw.dsplit, np.dsplit, [Sample((array((2, 2, 4)), 2))])
    check(tw.narrow, lambda x, dim, start, length: x[:, start : start + length], [Sample((x, 1, 1, 2))])
    check(tw.narrow_copy, lambda x, dim, start, length: x[start : start + length], [Sample((x, 0, 1, 2))])


def test_grids():
    x, y = array((3,)), array((2,), seed=1)
    for indexing in ("ij", "xy"):
        check(tw.meshgrid, lambda a, b, indexing: np.meshgrid(a, b, indexing=indexing),
              [Sample((x, y), {"indexing": indexing})])  # fmt: skip
    check(tw.cartesian_prod, lambda a, b: np.stack([np.repeat(a, 2), np.tile(b, 3)], 1), [Sample((x, y))])
    check(tw.combinations, lambda a: a[[[0, 1], [0, 2], [1, 2]]], [Sample((x,))])
    check(
        tw.block_diag, lambda a, b: np.block([[a, np.zeros((2, 2))], [np.zeros((1, 3)), b]]), [sample((2, 3), (1, 2))]
    )
    for name in ("atleast_1d", "atleast_2d", "atleast_3d"):
        check(getattr(tw, name), getattr(np, name), [sample(()), sample((3,)), sample((2, 3)), sample((1, 2, 3, 4))])


def test_out_lies_apart_from_the_inputs():
    x, y = tw.zeros(0), tw.ones(4, 6)
    for out in (x, y, y[:2]):
        with pytest.raises(RuntimeError, match="cat: out must not share memory"):
            tw.cat((x, y), out=out)
    whole = tw.zeros(8, 6)
    whole[:4] = 2
    assert tw.cat((whole[:2], y), out=whole[2:8]).tolist() == [[2.0] * 6] * 2 + [[1.0] * 6] * 4
    assert tw.cat((y,), out=tw.zeros(4, 6, dtype=tw.float64)).dtype == tw.float64
