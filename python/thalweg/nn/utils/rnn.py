"""Batches of sequences of unequal length: padded to one length, or packed without padding."""

from __future__ import annotations

from collections import namedtuple

import thalweg as tw

__all__ = [
    "PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence",
    "pad_sequence", "unpack_sequence", "unpad_sequence",
]  # fmt: skip

_Fields = namedtuple("_Fields", ["data", "batch_sizes", "sorted_indices", "unsorted_indices"])


class PackedSequence(_Fields):
    """Sequences packed step by step: all first elements, all second ones, and so on, longest sequence first.

    Fields:
        data: [Σ lengths, *].
        batch_sizes: int64 [longest], how many sequences still run at each step.
        sorted_indices: the order that puts the longest first, or None.
        unsorted_indices: its inverse, or None.

    Made by pack_padded_sequence and pack_sequence, taken by the recurrent layers.
    """

    def __new__(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
        if batch_sizes is None:
            raise ValueError("PackedSequence: batch_sizes is wanted, got None")
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args, **kwargs):
        """The same sequences with data (and indices, for a device) moved or cast."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        indices = (i if i is None else i.to(data.device) for i in (self.sorted_indices, self.unsorted_indices))
        return type(self)(data, self.batch_sizes, *indices)

    def cpu(self):
        """On the CPU."""
        return self.to("cpu")

    def double(self):
        """In float64."""
        return self.to(dtype=tw.float64)

    def float(self):
        """In float32."""
        return self.to(dtype=tw.float32)

    def half(self):
        """In float16."""
        return self.to(dtype=tw.float16)

    @property
    def is_cuda(self):
        """Whether the data lies on a GPU."""
        return self.data.device.type == "cuda"


def invert_permutation(permutation):
    """The permutation that undoes `permutation`, int64 [n]; None for None.

    >>> import thalweg as tw
    >>> tw.nn.utils.rnn.invert_permutation(tw.tensor([2, 0, 1])).tolist()
    [1, 2, 0]
    """
    if permutation is None:
        return None
    return tw.argsort(permutation)


def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    """Packs a padded batch.

    Args:
        input: [L, N, *], or [N, L, *] with batch_first.
        lengths: int64 tensor or list [N], each at least 1 and at most L.
        enforce_sorted: take it that the lengths already decrease; otherwise the batch is sorted here.

    Returns: PackedSequence.

    Errors: ValueError for lengths that are out of range, of another number than N, or not sorted where they must be.

    >>> import thalweg as tw
    >>> packed = tw.nn.utils.rnn.pack_padded_sequence(tw.tensor([[1, 2], [3, 0]]), [2, 1], batch_first=True)
    >>> packed.data.tolist(), packed.batch_sizes.tolist()
    ([1, 3, 2], [2, 1])
    """
    lengths = [int(length) for length in lengths]
    if batch_first:
        input = input.transpose(0, 1)
    longest, batch = input.shape[0], input.shape[1]
    if len(lengths) != batch:
        raise ValueError(f"pack_padded_sequence: {batch} lengths are wanted, got {len(lengths)}")
    if not lengths or min(lengths) <= 0 or max(lengths) > longest:
        raise ValueError(f"pack_padded_sequence: lengths from 1 to {longest} are wanted, got {lengths}")
    sorted_indices = None
    if not enforce_sorted:
        order = sorted(range(batch), key=lambda i: -lengths[i])
        sorted_indices = input.new_tensor(order, dtype=tw.int64)
        input = input.index_select(1, sorted_indices)
        lengths = [lengths[i] for i in order]
    elif any(lengths[i] < lengths[i + 1] for i in range(batch - 1)):
        raise ValueError(f"pack_padded_sequence: decreasing lengths or enforce_sorted=False are wanted, got {lengths}")
    batch_sizes = [sum(length > step for length in lengths) for step in range(lengths[0])]
    data = tw.cat([input[step, :size] for step, size in enumerate(batch_sizes)])
    return PackedSequence(data, tw.tensor(batch_sizes, dtype=tw.int64), sorted_indices)


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    """The inverse of pack_padded_sequence: (padded batch, lengths int64 [N]) in the original order.

    Args:
        padding_value: fills what lies after a sequence's end.
        total_length: the padded length, at least the longest; default the longest.
    """
    batch_sizes = sequence.batch_sizes.tolist()
    longest = len(batch_sizes)
    if total_length is not None and total_length < longest:
        raise ValueError(f"pad_packed_sequence: total_length of at least {longest} is wanted, got {total_length}")
    batch = batch_sizes[0]
    steps = [_pad_rows(rows, batch, padding_value) for rows in sequence.data.split(batch_sizes)]
    missing = (total_length or longest) - longest
    steps += [tw.full_like(steps[0], padding_value)] * missing
    padded = tw.stack(steps)
    lengths = tw.tensor([sum(size > i for size in batch_sizes) for i in range(batch)], dtype=tw.int64)
    if sequence.unsorted_indices is not None:
        padded = padded.index_select(1, sequence.unsorted_indices)
        order = sequence.unsorted_indices
        lengths = lengths[order.cpu() if order.is_local else order.tolist()]
    return (padded.transpose(0, 1) if batch_first else padded), lengths


def _pad_rows(rows, size, value):
    missing = size - rows.shape[0]
    if missing == 0:
        return rows
    padding = rows.new_full((missing, *rows.shape[1:]), value)
    return tw.cat([rows, padding])


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    """Stacks sequences [L_i, *] into one batch [longest, N, *], or [N, longest, *] with batch_first.

    >>> import thalweg as tw
    >>> tw.nn.utils.rnn.pad_sequence([tw.tensor([1, 2]), tw.tensor([3])], batch_first=True).tolist()
    [[1, 2], [3, 0]]
    """
    if padding_side not in ("left", "right"):
        raise ValueError(f"pad_sequence: padding_side 'left' or 'right' is wanted, got {padding_side!r}")
    sequences = list(sequences)
    if not sequences:
        raise ValueError("pad_sequence: at least one sequence is wanted, got none")
    longest = max(len(sequence) for sequence in sequences)
    padded = []
    for sequence in sequences:
        rows = _pad_rows(sequence, longest, padding_value)
        if padding_side == "left":
            rows = rows.roll(longest - len(sequence), 0)
        padded.append(rows)
    return tw.stack(padded, 0 if batch_first else 1)


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    """The sequences [lengths[i], *] of a padded batch, as a list."""
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    return [row[: int(length)] for row, length in zip(padded_sequences, lengths)]


def pack_sequence(sequences, enforce_sorted=True):
    """Packs a list of sequences [L_i, *]; see pack_padded_sequence."""
    lengths = [len(sequence) for sequence in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences):
    """The sequences of a PackedSequence, as a list in the original order."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
