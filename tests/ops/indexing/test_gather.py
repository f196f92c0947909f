import numpy as np
import pytest
import thalweg as tw
from harness import Sample, array, check
from thalweg._registry import ops

INDEX = np.array([[0, 2, 1], [2, 2, 0]])
REDUCE = {"sum": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}


def scattered(x, dim, index, src, write):
    """`write(target, place, value)` for each element, in row-major order."""
    result = x.copy()
    for at in np.ndindex(*index.shape):
        place = list(at)
        place[dim] = index[at]
        write(result, tuple(place), src[at] if np.ndim(src) else src)
    return result


def test_gather():
    samples = [
        Sample((array((2, 3)), 1, INDEX)),
        Sample((array((3, 4)), 0, INDEX)),
        Sample((array(()), 0, np.array([0, 0]))),
    ]
    check(tw.gather, lambda x, dim, i: np.take_along_axis(np.atleast_1d(x), i, dim) if i.shape[0] == x.shape[:1]
          else np.take_along_axis(x[:, :3], i, dim) if x.ndim else np.full(2, x), samples)  # fmt: skip
    check(tw.take_along_dim, lambda x, i, dim: np.take_along_axis(x, i, dim), [Sample((array((2, 3)), INDEX - 3, 1))])
    check(tw.take_along_dim, lambda x, i: np.take_along_axis(x, i, None), [Sample((array((2, 3)), np.array([5, 0])))])


def test_scatter():
    def put(target, place, value):
        target[place] = value

    x, src = array((3, 3)), array((2, 3), seed=1)
    check(tw.scatter, lambda x, d, i, s: scattered(x, d, i, s, put), [Sample((x, 1, np.array([[0, 2], [1, 0]]), src))],
          inplace="scatter_")  # fmt: skip
    check(tw.scatter, lambda x, d, i, s: scattered(x, d, i, s, put), [Sample((x, 0, INDEX, 2.5))], inplace="scatter_")
    assert tw.scatter(tw.ones(3), 0, tw.tensor([0, 0]), value=2, reduce="multiply").tolist() == [4, 1, 1]
    assert tw.ones(3).scatter_(0, tw.tensor([1]), tw.tensor([2.0]), reduce="add").tolist() == [1, 3, 1]


def test_scatter_add():
    samples = [Sample((array((3, 3)), dim, INDEX, array((2, 3), seed=1))) for dim in (0, 1)]
    check(tw.scatter_add, lambda x, d, i, s: scattered(x, d, i, s, lambda t, p, v: np.add.at(t, p, v)), samples,
          inplace="scatter_add_")  # fmt: skip
    check(ops.scatter_elements, lambda x, d, i, s, r: scattered(x, d, i, s, lambda t, p, v: np.add.at(t, p, v)),
          [Sample((array((3, 3)), 1, np.array([[0, 2], [1, 1], [2, 2]]), array((3, 2), seed=1), "sum"))])  # fmt: skip


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", [*REDUCE, "mean"])
def test_scatter_reduce(reduce, include_self):
    def reference(x, dim, index, src, reduce, include_self):
        groups = {place: [x[place]] for place in np.ndindex(*x.shape)}
        touched = scattered(
            np.zeros(x.shape, bool), dim, index, np.ones(index.shape), lambda t, p, v: t.__setitem__(p, True)
        )
        if not include_self:
            groups = {place: [] if touched[place] else values for place, values in groups.items()}
        scattered(x, dim, index, src, lambda t, p, v: groups[p].append(v))
        fold = np.mean if reduce == "mean" else REDUCE[reduce].reduce
        return np.array([fold(groups[place]) for place in np.ndindex(*x.shape)]).reshape(x.shape)

    samples = [
        Sample((array((3, 3)), dim, INDEX, array((2, 3), seed=1), reduce), {"include_self": include_self})
        for dim in (0, 1)
    ]
    check(tw.scatter_reduce, reference, samples, inplace="scatter_reduce_")


def test_means_of_integers_round_down():
    x, index = tw.tensor([-3, 4]), tw.tensor([0, 1])
    assert x.scatter_reduce(0, index, tw.tensor([0, 1]), "mean").tolist() == [-2, 2]


def test_zero_factors_get_the_product_of_the_others():
    x = tw.tensor([0.0, 2.0], dtype=tw.float64, requires_grad=True)
    src = tw.tensor([3.0, 0.0, 0.0], dtype=tw.float64, requires_grad=True)
    x.scatter_reduce(0, tw.tensor([0, 1, 1]), src, "prod").sum().backward()
    assert x.grad.tolist() == [3, 0]
    assert src.grad.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.gather(0, tw.tensor([[3]])),
        lambda x: x.gather(0, tw.tensor([[-1]])),
        lambda x: x.gather(2, tw.tensor([[0]])),
        lambda x: x.gather(0, tw.tensor([0])),
        lambda x: x.gather(1, tw.zeros(4, 1, dtype=tw.int64)),
        lambda x: x.gather(0, tw.tensor([[0.0]])),
        lambda x: x.scatter(0, tw.tensor([[3]]), 1.0),
        lambda x: x.scatter(0, tw.tensor([[0, 0]]), tw.ones(1, 1)),
        lambda x: x.scatter_(0, tw.tensor([[0]]), tw.ones(1, 1, dtype=tw.float64)),
        lambda x: x.scatter_reduce(0, tw.tensor([[0]]), tw.ones(1, 1), "median"),
    ],
)
def test_bad_indices_and_shapes_are_refused(call):
    with pytest.raises((ValueError, TypeError, IndexError, RuntimeError)):
        call(tw.zeros(3, 3))


def test_out_has_the_dtype_of_the_result():
    x, index = tw.tensor([[1.0, 2.0]]), tw.tensor([[1]])
    assert tw.gather(x, 1, index, out=tw.zeros(1, 1)).tolist() == [[2.0]]
    with pytest.raises(RuntimeError, match="gather: out must have the dtype float32, got float64"):
        tw.gather(x, 1, index, out=tw.zeros(1, 1, dtype=tw.float64))
