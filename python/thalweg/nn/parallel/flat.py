"""Several tensors as one, to be sent together."""

import thalweg as tw
from thalweg import distributed as dist


def by_dtype(tensors):
    """{dtype: the tensors of it}, in their order."""
    groups = {}
    for tensor in tensors:
        groups.setdefault(tensor.dtype, []).append(tensor)
    return groups


def flattened(tensors):
    """A new 1-d tensor with the elements of tensors of one dtype."""
    return tw.cat([tensor.detach().reshape(-1) for tensor in tensors])


def write_back(flat, tensors):
    """The elements of a 1-d tensor back into the tensors."""
    for tensor, part in zip(tensors, flat.split([t.numel() for t in tensors]), strict=True):
        tensor.detach().copy_(part.view(tensor.shape))


def broadcast_from_first(tensors, group):
    """The first rank's elements, on all; collective."""
    source = 0 if group is None else dist.get_global_rank(group, 0)
    for same in by_dtype(tensors).values():
        flat = flattened(same)
        dist.broadcast(flat, source, group=group)
        if dist.get_rank() != source:
            write_back(flat, same)


def described(module):
    """A line for each parameter and buffer: name, dtype, shape."""
    both = [*module.named_parameters(), *module.named_buffers()]
    return [f"{name}: {tensor.dtype} {list(tensor.shape)}" for name, tensor in both]
