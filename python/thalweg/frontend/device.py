"""Devices as users name them."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

from thalweg._core import _native
from thalweg._core._tensor import Tensor, attach
from thalweg.errors import DeviceError

__all__ = ["Device", "device", "moved", "name_of", "placed", "placed_like", "set_cuda"]


class device:
    """Where a tensor lies: device("cpu"), device("cuda", 1), device("cuda:1").

    >>> import thalweg as tw
    >>> tw.device("cpu").type
    'cpu'
    """

    __slots__ = ("index", "type")

    type: str
    index: int | None

    def __init__(self, type: "str | device", index: int | None = None) -> None:
        text = str(type)
        name, _, number = text.partition(":")
        if name not in ("cpu", "cuda"):
            raise ValueError(f"device: cpu or cuda is wanted, got {text!r}")
        if number:
            if index is not None or not number.isdecimal():
                raise ValueError(f"device: a name such as 'cuda:1' is wanted, got {text!r}")
            index = int(number)
        self.type = name
        self.index = index

    def __repr__(self) -> str:
        return (
            f"device(type={self.type!r})" if self.index is None else f"device(type={self.type!r}, index={self.index})"
        )

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __reduce__(self) -> tuple:
        return device, (self.type, self.index)


Device = device | str | int | None  # what users may give

_CPU = device("cpu")
_cuda_index: Callable[[Device], int]
load_cuda: Callable[[], str]  # the backend; returns what keeps it from being used, or nothing
F = TypeVar("F", bound=Callable)


def set_cuda(index_of: Callable[[Device], int], load: Callable[[], str]) -> None:
    """thalweg.cuda supplies which GPU a name means; it raises DeviceError where there is none."""
    global _cuda_index, load_cuda
    _cuda_index, load_cuda = index_of, load


def name_of(wanted: Device, op: str) -> str:
    """The full name of a device that tensors can be made on, such as "cuda:0". Raises DeviceError for others."""
    if wanted is None or wanted == "cpu":
        return "cpu"
    found = device("cuda", wanted) if isinstance(wanted, int) else device(wanted)
    if found.type == "cpu":
        if found.index not in (None, 0):
            raise DeviceError(f"{op}: there is one cpu device, got {found}")
        return "cpu"
    try:
        return f"cuda:{_cuda_index(found)}"
    except DeviceError as error:
        raise DeviceError(f"{op}: there is no device {found}: {error}") from None


def moved(tensor: Tensor, wanted: Device, op: str, ahead: bool = False) -> Tensor:
    """The tensor on a device, itself where it lies there or no device is named; a global one on the devices of its
    ranks, which is a matter of their kind.
    """
    if wanted is not None and _native.is_global(tensor):
        kind = device("cuda", wanted).type if isinstance(wanted, int) else device(wanted).type
        return tensor if tensor.placement.type == kind else tensor.to_global(tensor.placement._on(kind))
    return tensor if wanted is None else _native.to_device(tensor, name_of(wanted, op), ahead)


def placed(create: F) -> F:
    """Decorates a creation function: what it makes lies on its `device`, which it does not see."""

    @functools.wraps(create)
    def make(*args: Any, **kwargs: Any) -> Any:
        if kwargs.get("device") is None:
            return create(*args, **kwargs)
        name = name_of(kwargs.pop("device"), create.__name__)
        if name == "cpu":
            return create(*args, **kwargs)
        with _native.Placed(name):
            return create(*args, **kwargs)

    return cast(F, make)


def placed_like(create: F) -> F:
    """The same where the first argument is a tensor: what is made lies where that does, unless a device is given."""
    make = placed(create)

    @functools.wraps(create)
    def make_like(input: Tensor, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("device") is None and input.is_cuda and not _native.is_global(input):
            kwargs["device"] = input.device
        return make(input, *args, **kwargs)

    return cast(F, make_like)


def _device_of(self: Tensor) -> device:
    if _native.is_global(self):
        return device(self.placement.type)
    name = self._device_name
    return device(name) if name.startswith("cuda") else _CPU


attach("device", property(_device_of, doc="Where the tensor lies."))
attach("get_device", lambda self: -1 if self.device.index is None else self.device.index)
attach("is_cpu", property(lambda self: not self.is_cuda))
attach("is_cuda", property(lambda self: self.device.type == "cuda"))
attach("is_sparse", property(lambda self: False))
attach("is_quantized", property(lambda self: False))
attach("is_meta", property(lambda self: False))
attach("is_nested", property(lambda self: False))
