"""Whether thalweg's result is torch's: structure, shape, dtype, values within the one table of tolerances."""

import numpy as np
import thalweg as tw
import torch

from .convert import Inconvertible, dtype_name, to_numpy

# dtype: (relative, absolute). What is not here is compared exactly.
TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}
# Gradients add up more terms; float64's stay tight enough to see a float32 step inside.
GRADIENT_FACTOR = 10.0
# Where torch itself is far from the float64 result, being this many times as far (largest error) is as good.
ORACLE_FACTOR = 4.0


def describe(x):
    """A value in few characters: f32[2, 3] for tensors, with strides when they are not the contiguous ones."""
    if isinstance(x, (torch.Tensor, tw.Tensor)):
        text = f"{dtype_name(x.dtype)}{list(x.shape)}"
        if not x.is_contiguous():
            text += f"@{tuple(x.stride())}"
        if x.shape == () and dtype_name(x.dtype) != "complex32":
            text += f"={to_numpy(x).item():.6g}" if not x.is_complex() else f"={to_numpy(x).item()}"
        return text
    if isinstance(x, torch.Size):
        return str(tuple(x))
    if isinstance(x, (list, tuple)):
        inner = ", ".join(describe(i) for i in x)
        return f"[{inner}]" if isinstance(x, list) else f"({inner}{',' if len(x) == 1 else ''})"
    if isinstance(x, dict):
        return "{" + ", ".join(f"{k}: {describe(v)}" for k, v in x.items()) + "}"
    return getattr(x, "__name__", None) or repr(x)[:120]


def describe_call(sample):
    parts = [describe(sample.input), *(describe(a) for a in sample.args)]
    return ", ".join(parts + [f"{k}={describe(v)}" for k, v in sample.kwargs.items()])


def _close(got, want, rtol, atol):
    """Elementwise; NaN equals NaN, infinities equal only themselves."""
    with np.errstate(all="ignore"):
        same = (got == want) | (np.isnan(got) & np.isnan(want))
        finite = np.isfinite(got) & np.isfinite(want)
        near = np.abs(got - want) <= atol + rtol * np.abs(want)
    return same | (finite & near)


def _wide(array):
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def _as_good_as_torch(got, want, exact, rtol, atol):
    """Elements that are near the float64 result, or no further from it than torch's worst by ORACLE_FACTOR."""
    with np.errstate(all="ignore"):
        error = np.abs(want - exact)
        error = error[np.isfinite(error)]
        slack = ORACLE_FACTOR * error.max() if error.size else 0.0
    return _close(got, exact, rtol, atol + slack)


def compare_tensor(want, got, exact=None, factor=1.0):
    """None, or what differs. `exact`: a function giving torch's result from float64 inputs, or None."""
    if want.layout is not torch.strided:
        raise Inconvertible(f"a result of layout {want.layout}")
    if not isinstance(got, tw.Tensor):
        return f"want a tensor {describe(want)}, got {type(got).__name__} {repr(got)[:80]}"
    if tuple(got.shape) != tuple(want.shape):
        return f"shape: want {list(want.shape)}, got {list(got.shape)}"
    if dtype_name(got.dtype) != dtype_name(want.dtype):
        return f"dtype: want {dtype_name(want.dtype)}, got {dtype_name(got.dtype)}"
    a, b = to_numpy(want), to_numpy(got)
    if a.size == 0:
        return None
    tolerance = TOLERANCES.get(dtype_name(want.dtype))
    if tolerance is None:
        good = a == b
    else:
        a, b = _wide(a), _wide(b)
        rtol, atol = (factor * t for t in tolerance)
        good = _close(b, a, rtol, atol)
        if not good.all() and exact is not None:
            precise = exact()
            if precise is not None and tuple(precise.shape) == tuple(want.shape):
                good = good | _as_good_as_torch(b, a, _wide(to_numpy(precise.to(want.dtype))), rtol, atol)
    if good.all():
        return None
    return _difference(a, b, good)


def _difference(want, got, good):
    bad = np.argwhere(~good)
    where = tuple(int(i) for i in bad[0])
    text = f"value: {len(bad)} of {want.size} wrong, first at {list(where)}: want {want[where]!s}, got {got[where]!s}"
    if want.dtype.kind in "fc":
        with np.errstate(all="ignore"):
            error = np.abs(got - want)[~good]
            relative = error / np.abs(want)[~good]
        if np.isfinite(error).any():
            text += f" (worst abs {np.nanmax(error):.3g}, rel {np.nanmax(relative):.3g})"
    if want.size <= 12:
        text += f"\n      want {np.array2string(want, separator=', ', threshold=20)}".replace("\n ", " ")
        text += f"\n      got  {np.array2string(got, separator=', ', threshold=20)}".replace("\n ", " ")
    return text


def _struct_names(value):
    """The field names of one of torch's named results (max, topk, ...)."""
    cls = type(value)
    if cls.__module__ != "torch.return_types":
        return getattr(value, "_fields", ())
    return tuple(n for n in vars(cls) if type(vars(cls)[n]).__name__ == "member_descriptor")


def compare(want, got, exact=None, factor=1.0, values=True):
    """None, or what differs between torch's and thalweg's result. values=False looks at structure only."""
    if isinstance(want, torch.Tensor):
        if values:
            return compare_tensor(want, got, exact, factor)
        same = isinstance(got, tw.Tensor) and tuple(got.shape) == tuple(want.shape)
        if same and dtype_name(got.dtype) == dtype_name(want.dtype):
            return None
        return f"want {describe(want)}, got {describe(got)}"
    if isinstance(want, torch.Size):
        return None if tuple(got) == tuple(want) else f"want {tuple(want)}, got {got}"
    if isinstance(want, (list, tuple)):
        return _compare_sequence(want, got, exact, factor, values)
    if isinstance(want, dict):
        if not isinstance(got, dict) or list(got) != list(want):
            return f"want a dict with {list(want)}, got {repr(got)[:80]}"
        return _compare_sequence(list(want.values()), list(got.values()), None, factor, values)
    if isinstance(want, torch.dtype):
        return None if dtype_name(got) == dtype_name(want) else f"want {want}, got {got}"
    if type(got) is not type(want):
        return f"want {type(want).__name__} {want!r}, got {type(got).__name__} {repr(got)[:80]}"
    if isinstance(want, (float, complex)) and values:
        rtol, atol = TOLERANCES["float32"]
        if _close(np.asarray(got), np.asarray(want), rtol, atol):
            return None
        return f"want {want!r}, got {got!r}"
    return None if not values or got == want else f"want {want!r}, got {got!r}"


def _compare_sequence(want, got, exact, factor, values):
    if not isinstance(got, (list, tuple)) or len(got) != len(want):
        return f"want {len(want)} results, got {describe(got)}"
    for name in _struct_names(want):
        if not hasattr(got, name):
            return f"the result has no field {name!r}: {type(got).__name__}"
    for i, (w, g) in enumerate(zip(want, got)):
        message = compare(w, g, exact and _item(exact, i), factor, values)
        if message:
            return f"result {i}: {message}"
    return None


def _item(exact, i):
    def item():
        whole = exact()
        return whole[i] if isinstance(whole, (list, tuple)) and i < len(whole) else None

    return item
