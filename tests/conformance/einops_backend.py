"""thalweg as einops sees a framework. einops finds subclasses of its AbstractBackend; importing this one is enough."""

import thalweg as tw
from einops._backends import AbstractBackend


class ThalwegBackend(AbstractBackend):
    """What einops asks of a framework, by thalweg's functions."""

    framework_name = "thalweg"

    def is_appropriate_type(self, tensor):
        return isinstance(tensor, tw.Tensor)

    def from_numpy(self, x):
        tensor = tw.tensor(x)
        return tensor.requires_grad_() if tensor.is_floating_point() else tensor

    def to_numpy(self, x):
        return x.detach().numpy()

    def arange(self, start, stop):
        return tw.arange(start, stop, dtype=tw.int64)

    def transpose(self, x, axes):
        return x.permute(axes)

    def reduce(self, x, operation, axes):
        if operation in ("min", "max"):
            return getattr(tw, f"a{operation}")(x, axes)
        if operation == "prod":
            for axis in sorted(axes, reverse=True):
                x = tw.prod(x, axis)
            return x
        return getattr(tw, operation)(x, axes)

    def stack_on_zeroth_dimension(self, tensors):
        return tw.stack(tensors)

    def add_axis(self, x, new_position):
        return x.unsqueeze(new_position)

    def tile(self, x, repeats):
        return tw.tile(x, repeats)

    def concat(self, tensors, axis):
        return tw.cat(tensors, axis)

    def is_float_type(self, x):
        return x.is_floating_point()

    def einsum(self, pattern, *x):
        return tw.einsum(pattern, *x)
