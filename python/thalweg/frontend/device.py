"""Devices as users name them."""

from thalweg._core._tensor import attach
from thalweg.errors import DeviceError

__all__ = ["check_device", "device"]


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


_CPU = device("cpu")


def check_device(wanted: "device | str | int | None", op: str) -> None:
    """Raises DeviceError unless tensors can be made on `wanted`."""
    if wanted is None or wanted == "cpu":
        return
    if isinstance(wanted, int):
        wanted = device("cuda", wanted)
    found = device(wanted)
    if found.type != "cpu":
        raise DeviceError(f"{op}: there is no backend for device {found} in this build")
    if found.index not in (None, 0):
        raise DeviceError(f"{op}: there is one cpu device, got {found}")


attach("device", property(lambda self: _CPU, doc="Where the tensor lies."))
attach("get_device", lambda self: -1)
attach("is_cpu", property(lambda self: True))
attach("is_cuda", property(lambda self: False))
attach("is_sparse", property(lambda self: False))
attach("is_quantized", property(lambda self: False))
attach("is_meta", property(lambda self: False))
attach("is_nested", property(lambda self: False))
