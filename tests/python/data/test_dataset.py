"""Data sets and their combinations."""

import pytest
import thalweg as tw
from thalweg.data import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)


class Stream(IterableDataset):
    def __init__(self, values):
        self.values = values

    def __iter__(self):
        return iter(self.values)

    def __len__(self):
        return len(self.values)


class Squares(Dataset):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return i * i


def test_tensor_dataset():
    x, y = tw.arange(12).reshape(4, 3), tw.arange(4)
    data = TensorDataset(x, y)
    assert len(data) == 4
    assert data[2][0].tolist() == [6, 7, 8] and data[2][1].item() == 2 and len(data[1:3][0]) == 2
    with pytest.raises(ValueError, match="first dims must agree"):
        TensorDataset(x, tw.arange(5))
    with pytest.raises(ValueError, match="first dims must agree"):
        TensorDataset(tw.tensor(1))
    with pytest.raises(ValueError, match="at least one"):
        TensorDataset()


def test_concat():
    both = Squares(3) + Squares(2)
    assert isinstance(both, ConcatDataset) and [both[i] for i in range(-5, 5)] == [0, 1, 4, 0, 1] * 2
    for bad in (5, -6):
        with pytest.raises(IndexError, match="ConcatDataset"):
            both[bad]
    with pytest.raises(TypeError, match="IterableDataset"):
        ConcatDataset([Stream([1])])
    with pytest.raises(ValueError):
        ConcatDataset([])
    assert [ConcatDataset([Squares(0), Squares(2)])[i] for i in range(2)] == [0, 1]


def test_chain():
    both = Stream([1, 2]) + Stream([3])
    assert isinstance(both, ChainDataset) and list(both) == [1, 2, 3] and len(both) == 3
    with pytest.raises(TypeError, match="ChainDataset"):
        list(ChainDataset([Stream([1]), [2]]))


def test_stack():
    assert StackDataset(Squares(3), "abc")[2] == (4, "c")
    named = StackDataset(n=Squares(3), s="abc")
    assert named[1] == {"n": 1, "s": "b"} and len(named) == 3
    assert named.__getitems__([2, 0]) == [{"n": 4, "s": "c"}, {"n": 0, "s": "a"}]
    for bad in (lambda: StackDataset(), lambda: StackDataset("ab", x="ab"), lambda: StackDataset("ab", "a")):
        with pytest.raises(ValueError, match="StackDataset"):
            bad()


def test_subset():
    part = Subset(Squares(10), [3, 1])
    assert [part[i] for i in range(len(part))] == [9, 1] and part.__getitems__([1, 0]) == [1, 9]


def test_getitems_of_the_wrong_length_is_an_error():
    class Bad(Squares):
        def __getitems__(self, indices):
            return [0]

    with pytest.raises(ValueError, match="2 samples are wanted, got 1"):
        Subset(Bad(4), [0, 1]).__getitems__([0, 1])


@pytest.mark.parametrize(
    ("lengths", "sizes"), [([7, 3], [7, 3]), ([0.5, 0.5], [5, 5]), ([0.35, 0.35, 0.3], [4, 3, 3]), ([10, 0], [10, 0])]
)
def test_random_split(lengths, sizes):
    parts = random_split(range(10), lengths, generator=tw.Generator().manual_seed(1))
    assert [len(p) for p in parts] == sizes
    assert sorted(i for p in parts for i in p) == list(range(10))
    again = random_split(range(10), lengths, generator=tw.Generator().manual_seed(1))
    assert [p.indices for p in parts] == [p.indices for p in again]


@pytest.mark.parametrize("lengths", [[3, 3], [11, -1], [1.5, -0.5], [0.5, 0.4]])
def test_random_split_refuses_other_sums(lengths):
    with pytest.raises(ValueError, match="random_split"):
        random_split(range(10), lengths)
