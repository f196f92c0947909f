"""Which rectangles of a tensor this process holds, and which of them it writes."""

from collections import defaultdict

from thalweg._core import _native


class Piece:
    """A rectangle of a tensor: its first element, its sizes, and the local tensor with its elements."""

    __slots__ = ("first", "sizes", "tensor")

    def __init__(self, first, sizes, tensor):
        self.first = list(first)
        self.sizes = list(sizes)
        self.tensor = tensor


def is_global(tensor):
    """Whether a tensor is laid out over a placement."""
    return _native.is_global(tensor)


def complete(tensor):
    """A global tensor with its sums made; collective where it has any."""
    layout = _native.layout_of(tensor, "checkpoint")
    if all(key[0] != "P" for key in layout.sbp):
        return tensor
    keys = [("B",) if key[0] == "P" else key for key in layout.sbp]
    return _native.to_global(tensor.detach(), _native.Layout(layout.placement, keys), None)


def pieces_to_write(tensor, is_first_process, number):
    """The pieces of a tensor that this process writes, so that together all processes write each element once.

    number: of the tensor; where several devices hold the same piece it decides which of them writes, so that the work
        is spread. A local tensor is taken to be the same in every process: the first writes it.
    """
    if not is_global(tensor):
        whole = Piece([0] * tensor.ndim, tensor.shape, tensor.detach())
        return [whole] if is_first_process else []
    sizes = list(tensor.shape)
    layout = _native.layout_of(tensor, "checkpoint")
    holders = defaultdict(list)
    for position in range(len(layout.placement.ranks)):
        first, part = layout.box(sizes, position)
        if all(part):
            holders[tuple(first), tuple(part)].append(position)
    mine = dict(zip(layout.placement.addressable(), _native.to_parts(tensor.detach()), strict=True))
    found = []
    for (first, part), positions in holders.items():
        writer = positions[number % len(positions)]
        if writer in mine:
            found.append(Piece(first, part, mine[writer]))
    return found


def overlap(first_a, sizes_a, first_b, sizes_b):
    """Where two rectangles meet: (first element, sizes), or None where they do not."""
    first = [max(a, b) for a, b in zip(first_a, first_b, strict=True)]
    end = [min(a + n, b + m) for a, n, b, m in zip(first_a, sizes_a, first_b, sizes_b, strict=True)]
    sizes = [e - f for e, f in zip(end, first, strict=True)]
    return (first, sizes) if all(size > 0 for size in sizes) else None


def part_of(tensor, origin, first, sizes):
    """The elements of a rectangle that lies within `tensor`, whose own first element is `origin`."""
    return tensor[tuple(slice(f - o, f - o + n) for f, o, n in zip(first, origin, sizes, strict=True))]
