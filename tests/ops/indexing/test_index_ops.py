"""The indexing functions written with index, index_put and scatter_elements."""

import numpy as np
import pytest
import thalweg as tw
from harness import Sample, array, check
from thalweg._registry import ops

X = array((3, 4))
INDEX = np.array([2, 0, 2])
SOURCE = array((3, 3), seed=1)


def written(write):
    def reference(x, dim, index, source, **_):
        result = x.copy()
        write(
            np.moveaxis(result, dim, 0), index, np.moveaxis(np.asarray(source), dim, 0) if np.ndim(source) else source
        )
        return result

    return reference


def test_reads():
    check(tw.index_select, lambda x, dim, i: x.take(i, dim), [Sample((X, 0, INDEX)), Sample((X, -1, INDEX))])
    check(tw.take, np.take, [Sample((X, np.array([[0, 11], [-1, 5]])))])
    check(tw.masked_select, lambda x, m: x[np.broadcast_to(m, x.shape)], [Sample((X, X > 0)), Sample((X, X[:1] > 0))])
    assert tw.nonzero(tw.tensor([[0, 1], [2, 0]])).tolist() == tw.argwhere(tw.tensor([[0, 1], [2, 0]])).tolist()
    rows, columns = tw.nonzero(tw.tensor([[0, 1], [2, 0]]), as_tuple=True)
    assert (rows.tolist(), columns.tolist()) == ([0, 1], [1, 0])


def test_writes():
    add = written(lambda t, i, s: np.add.at(t, i, s))
    check(
        tw.index_add, add, [Sample((X, 1, INDEX, SOURCE)), Sample((X[:, :3], 0, INDEX, SOURCE))], inplace="index_add_"
    )
    check(tw.index_add, lambda *a, alpha: add(*a[:3], alpha * a[3]), [Sample((X, 1, INDEX, SOURCE), {"alpha": 2.5})])
    unique = INDEX[:2]
    copy = written(lambda t, i, s: t.__setitem__(i, s))
    check(tw.index_copy, copy, [Sample((X, 1, unique, SOURCE[:, :2]))], inplace="index_copy_")
    check(tw.index_fill, copy, [Sample((X, 1, INDEX, 2.5))], inplace="index_fill_")
    check(tw.index_fill, copy, [Sample((X, 0, INDEX, np.array(2.5)))])
    largest = written(lambda t, i, s: np.maximum.at(t, i, s))
    check(tw.index_reduce, lambda x, d, i, s, r: largest(x, d, i, s), [Sample((X, 1, INDEX, SOURCE, "amax"))],
          inplace="index_reduce_")  # fmt: skip

    def put(x, index, source, accumulate=False):
        result = x.copy()
        np.add.at(result.reshape(-1), index, source) if accumulate else np.put(result, index, source)
        return result

    check(tw.put, put, [Sample((X, INDEX, SOURCE[0], True)), Sample((X, unique, SOURCE[0, :2]))], inplace="put_")


def test_masked_scatter():
    def reference(x, mask, source):
        result = x.copy()
        result[mask] = source.reshape(-1)[: mask.sum()]
        return result

    check(tw.masked_scatter, reference, [Sample((X, X > 0, array((12,), seed=2)))], inplace="masked_scatter_")
    with pytest.raises(RuntimeError, match="elements"):
        tw.zeros(3).masked_scatter(tw.tensor([True, True, False]), tw.ones(1))


def test_one_hot():
    one_hot = tw.nn.functional.one_hot
    assert one_hot(tw.tensor([0, 2])).tolist() == [[1, 0, 0], [0, 0, 1]]
    assert one_hot(tw.tensor([[1]]), 3).tolist() == [[[0, 1, 0]]]
    for bad in (3, -1):
        with pytest.raises(RuntimeError, match="one_hot"):
            one_hot(tw.tensor([bad]), 3)


def test_a_source_of_the_wrong_shape_is_refused_at_once():
    with pytest.raises(RuntimeError, match=r"\[4, 4\].*\[4\]"):
        tw.zeros(4, 4, requires_grad=True).index_add(0, tw.tensor([0, 1, 2, 3]), tw.ones(4))
    with pytest.raises(RuntimeError, match="float64"):
        tw.zeros(2).index_add(0, tw.tensor([0]), tw.ones(1, dtype=tw.float64))
    with pytest.raises(IndexError):
        tw.zeros(2).index_add(0, tw.tensor([2]), tw.ones(1))


def test_sums_do_not_depend_on_the_number_of_threads():
    rng = np.random.default_rng(0)
    source, rows = tw.tensor(rng.normal(size=(3000, 70)).astype(np.float32)), tw.tensor(rng.integers(0, 9, 3000))
    columns = tw.tensor(rng.integers(0, 70, (3000, 70)))

    def results():
        return (
            tw.zeros(9, 70).index_add(0, rows, source).tolist(),
            tw.zeros(3000, 70).scatter_add(1, columns, source).tolist(),
            ops.embedding_backward(source, rows, 9, -1, False).tolist(),
        )

    threads = tw.get_num_threads()
    try:
        tw.set_num_threads(1)
        alone = results()
        tw.set_num_threads(4)
        assert results() == alone
    finally:
        tw.set_num_threads(threads)


@pytest.mark.parametrize(
    "call",
    [
        lambda x, i: tw.index_select(x, 0, i),
        lambda x, i: tw.index_add(x, 0, i, tw.ones(1)),
        lambda x, i: x.index_copy_(0, i, tw.ones(1)),
    ],
)
def test_negative_indices_are_refused(call):
    with pytest.raises(IndexError, match="must not be negative .not so at"):
        call(tw.zeros(3), tw.tensor([-1]))


def test_unravel_index():
    positions = np.array([[0, 5], [17, 23]], np.uint8)
    got = tw.unravel_index(tw.tensor(positions), (2, 3, 4))
    for index, wanted in zip(got, np.unravel_index(positions, (2, 3, 4)), strict=True):
        assert index.dtype == tw.int64 and index.tolist() == wanted.tolist()
    for wrong, error in (
        (tw.tensor([24]), "from 0 to 23"),
        (tw.tensor([-1]), "from 0 to 23"),
        (tw.ones(1), "integers"),
    ):
        with pytest.raises(ValueError, match=f"unravel_index: .*{error}"):
            tw.unravel_index(wrong, (2, 3, 4))
