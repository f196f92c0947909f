"""What makes a Tensor a Python citizen: conversion to numbers, iteration, NumPy, DLPack."""

import importlib
from collections.abc import Iterator
from typing import Any

from thalweg._core import _native
from thalweg._core._tensor import Tensor, attach, set_slots
from thalweg._registry import ops


def _single(self: Tensor, what: str) -> Any:
    if self.numel() != 1:
        raise RuntimeError(f"{what}: a tensor of one element is wanted, got shape {tuple(self.shape)}")
    return _native.item(self)


def _bool(self: Tensor) -> bool:
    if self.numel() == 1:
        return bool(_native.item(self))
    raise RuntimeError(f"bool: the truth of a tensor with {self.numel()} elements is ambiguous; use any() or all()")


def _index(self: Tensor) -> int:
    if self.dtype.is_floating_point or self.dtype.is_complex:
        raise TypeError(f"index: an integer tensor is wanted, got dtype {self.dtype}")
    return int(_single(self, "index"))


def _iter(self: Tensor) -> Iterator[Tensor]:
    if self.ndim == 0:
        raise TypeError("iter: a 0-dim tensor cannot be iterated over")
    return iter([ops.select(self, 0, i) for i in range(self.shape[0])])


def _contains(self: Tensor, element: Any) -> bool:
    return bool(_native.item((self == element).any()))


def _array(self: Tensor, dtype: Any = None, copy: bool | None = None) -> Any:
    array = self.numpy()
    if dtype is not None and array.dtype != dtype:
        return array.astype(dtype)
    return array.copy() if copy else array


def _array_wrap(self: Tensor, array: Any, context: Any = None, return_scalar: bool = False) -> Tensor:
    return _native.from_numpy(array)


def _dlpack(
    self: Tensor, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
) -> Any:
    if dl_device is not None and tuple(dl_device) != (1, 0):
        raise BufferError(f"dlpack: device (1, 0), the CPU, is wanted, got {tuple(dl_device)}")
    return _native.to_dlpack(self.clone() if copy else self)


def _to_device(self: Tensor, device: Any, /, *, stream: Any = None) -> Tensor:
    """The tensor on a device, as the array API calls `to`."""
    return self.to(device)


def _array_namespace(self: Tensor, /, *, api_version: str | None = None) -> Any:
    """The namespace of the array API standard."""
    if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
        raise ValueError(
            f"__array_namespace__: version 2024.12 of the standard or earlier is wanted, got {api_version}"
        )
    return importlib.import_module("thalweg.array_api")


set_slots(
    bool=_bool,
    int=lambda self: int(_single(self, "int")),
    float=lambda self: float(_single(self, "float")),
    index=_index,
    iter=_iter,
    contains=_contains,
)
attach("__complex__", lambda self: complex(_single(self, "complex")))
attach("__reversed__", lambda self: self.flip(0))
attach("__array__", _array)
attach("__array_namespace__", _array_namespace)
attach("__array_wrap__", _array_wrap)
attach("to_device", _to_device)
attach("__dlpack__", _dlpack)
attach("__dlpack_device__", lambda self: (2, self.device.index) if self.is_cuda else (1, 0))
