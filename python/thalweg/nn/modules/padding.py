"""Padding of the last one, two or three dims. `padding` is an int or (left, right, top, bottom, front, back)."""

from __future__ import annotations

from thalweg.nn import functional as F
from thalweg.nn.module import Module

__all__ = [
    "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d",
    "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d",
    "ReplicationPad3d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d",
]  # fmt: skip


class _Pad(Module):
    """Pads the last `_dims` dims of [N, C, *dims] or [C, *dims] in the mode `_mode`; negative padding crops."""

    def __init_subclass__(cls, dims=None, mode=None):
        super().__init_subclass__()
        if dims is not None:
            cls._dims = dims
        if mode is not None:
            cls._mode = mode

    def __init__(self, padding):
        super().__init__()
        wanted = 2 * self._dims
        padding = (padding,) * wanted if isinstance(padding, int) else tuple(padding)
        if len(padding) != wanted:
            raise ValueError(f"{type(self).__name__}: an int or {wanted} ints are wanted, got {padding}")
        self.padding = padding

    def forward(self, input):
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self):
        return f"{self.padding}"


class _ConstantPad(_Pad, mode="constant"):
    def __init__(self, padding, value):
        super().__init__(padding)
        self.value = value

    def forward(self, input):
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self):
        return f"padding={self.padding}, value={self.value}"


class _ZeroPad(_ConstantPad):
    def __init__(self, padding):
        super().__init__(padding, 0.0)

    def extra_repr(self):
        return f"{self.padding}"


class _BatchedPad(_Pad):
    """A pad that reads its input: only [N, C, *dims] or [C, *dims] will do."""

    def forward(self, input):
        if input.dim() not in (self._dims + 1, self._dims + 2):
            wanted = f"{self._dims + 1} or {self._dims + 2} dims are wanted"
            raise ValueError(f"{type(self).__name__}: {wanted}, got {input.dim()}")
        return super().forward(input)


class ConstantPad1d(_ConstantPad, dims=1):
    """Pads the last dim with `value`.

    >>> import thalweg as tw
    >>> tw.nn.ConstantPad1d((1, 0), 7.0)(tw.zeros(1, 2)).tolist()
    [[7.0, 0.0, 0.0]]
    """


class ConstantPad2d(_ConstantPad, dims=2):
    """Pads the last two dims with `value`."""


class ConstantPad3d(_ConstantPad, dims=3):
    """Pads the last three dims with `value`."""


class ZeroPad1d(_ZeroPad, dims=1):
    """Pads the last dim with zeros."""


class ZeroPad2d(_ZeroPad, dims=2):
    """Pads the last two dims with zeros."""


class ZeroPad3d(_ZeroPad, dims=3):
    """Pads the last three dims with zeros."""


class ReflectionPad1d(_Pad, dims=1, mode="reflect"):
    """Mirrors the last dim at its edges, which are not repeated; padding must be smaller than the dim.

    >>> import thalweg as tw
    >>> tw.nn.ReflectionPad1d(2)(tw.tensor([[0.0, 1.0, 2.0]])).tolist()
    [[2.0, 1.0, 0.0, 1.0, 2.0, 1.0, 0.0]]
    """


class ReflectionPad2d(_Pad, dims=2, mode="reflect"):
    """Mirrors the last two dims at their edges."""


class ReflectionPad3d(_Pad, dims=3, mode="reflect"):
    """Mirrors the last three dims at their edges."""


class ReplicationPad1d(_Pad, dims=1, mode="replicate"):
    """Repeats the edge elements of the last dim."""


class ReplicationPad2d(_Pad, dims=2, mode="replicate"):
    """Repeats the edge elements of the last two dims."""


class ReplicationPad3d(_Pad, dims=3, mode="replicate"):
    """Repeats the edge elements of the last three dims."""


class CircularPad1d(_BatchedPad, dims=1, mode="circular"):
    """Continues the last dim with its other end."""


class CircularPad2d(_BatchedPad, dims=2, mode="circular"):
    """Continues the last two dims with their other ends."""


class CircularPad3d(_BatchedPad, dims=3, mode="circular"):
    """Continues the last three dims with their other ends."""
