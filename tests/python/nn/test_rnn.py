"""Padded and packed sequences."""

import pytest
import thalweg as tw
from thalweg.nn.utils import rnn

A, B, C = tw.tensor([1, 2, 3]), tw.tensor([4]), tw.tensor([5, 6])


def test_pad_sequence():
    assert rnn.pad_sequence([A, B, C]).tolist() == [[1, 4, 5], [2, 0, 6], [3, 0, 0]]
    assert rnn.pad_sequence([A, B], batch_first=True, padding_value=9).tolist() == [[1, 2, 3], [4, 9, 9]]
    assert rnn.pad_sequence([A, B], batch_first=True, padding_side="left").tolist() == [[1, 2, 3], [0, 0, 4]]


def test_pack_and_pad_back():
    packed = rnn.pack_sequence([A, B, C], enforce_sorted=False)
    assert packed.data.tolist() == [1, 5, 4, 2, 6, 3]
    assert packed.batch_sizes.tolist() == [3, 2, 1]
    assert packed.sorted_indices.tolist() == [0, 2, 1] and packed.unsorted_indices.tolist() == [0, 2, 1]
    padded, lengths = rnn.pad_packed_sequence(packed, batch_first=True, padding_value=-1, total_length=4)
    assert padded.tolist() == [[1, 2, 3, -1], [4, -1, -1, -1], [5, 6, -1, -1]]
    assert lengths.tolist() == [3, 1, 2]
    assert [s.tolist() for s in rnn.unpack_sequence(packed)] == [[1, 2, 3], [4], [5, 6]]


def test_sorted_input_needs_no_indices():
    packed = rnn.pack_sequence([A, C, B])
    assert packed.sorted_indices is None and packed.unsorted_indices is None
    assert packed.batch_sizes.tolist() == [3, 2, 1]


def test_unpad_sequence():
    padded = rnn.pad_sequence([A, B])
    assert [s.tolist() for s in rnn.unpad_sequence(padded, tw.tensor([3, 1]))] == [[1, 2, 3], [4]]


def test_gradients_pass_through_packing():
    x = tw.ones(3, 2, requires_grad=True)
    padded, _ = rnn.pad_packed_sequence(rnn.pack_padded_sequence(x, [3, 1]))
    padded.sum().backward()
    assert x.grad.tolist() == [[1.0, 1.0], [1.0, 0.0], [1.0, 0.0]]


def test_casting_keeps_the_order():
    packed = rnn.pack_sequence([A, B, C], enforce_sorted=False).double()
    assert packed.data.dtype == tw.float64 and packed.sorted_indices.tolist() == [0, 2, 1]


@pytest.mark.parametrize(
    ("lengths", "text"),
    [([2, 0], "lengths from 1 to 3"), ([4, 1], "lengths from 1 to 3"), ([1, 2], "decreasing"), ([3], "2 lengths")],
)
def test_bad_lengths(lengths, text):
    with pytest.raises(ValueError, match=text):
        rnn.pack_padded_sequence(tw.ones(3, 2), lengths)


def test_other_errors():
    with pytest.raises(ValueError, match="at least one"):
        rnn.pad_sequence([])
    with pytest.raises(ValueError, match="padding_side"):
        rnn.pad_sequence([A], padding_side="top")
    with pytest.raises(ValueError, match="total_length of at least 3"):
        rnn.pad_packed_sequence(rnn.pack_sequence([A]), total_length=2)
