"""How tensors print: NumPy's array layout, PyTorch's options."""

import math
from typing import Any

import thalweg.sbp as sbp_module
from thalweg._core import _native
from thalweg._core._tensor import Tensor, attach, set_slots
from thalweg._registry import ops
from thalweg.frontend.placement import placement

__all__ = ["set_printoptions"]

_PROFILES: dict[str, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}
_options: dict[str, Any] = {**_PROFILES["default"], "sci_mode": None}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Sets how tensors print.

    Args:
        precision: digits after the point.
        threshold: more elements than this are summarised.
        edgeitems: items shown at each end of a summarised dim.
        linewidth: characters of a line.
        profile: "default", "short" or "full".
        sci_mode: scientific notation always or never; None decides by the values.
    """
    if profile is not None:
        _options.update(_PROFILES[profile])
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    _options.update({key: value for key, value in given.items() if value is not None})
    _options["sci_mode"] = sci_mode


class _Formatter:
    """One width and notation for all elements that are shown."""

    def __init__(self, values: list, kind: str) -> None:
        self.kind = kind
        if kind == "float":  # as in PyTorch, zeros, inf and nan do not widen a column
            values = [v for v in values if math.isfinite(v) and v != 0]
            self._choose_notation(values)
        self.width = max((len(self.text(v)) for v in values), default=0)

    def _choose_notation(self, finite: list[float]) -> None:
        magnitudes = [abs(v) for v in finite]
        self.integral = all(v == math.floor(v) for v in finite)
        largest, smallest = max(magnitudes, default=1.0), min(magnitudes, default=1.0)
        wide = largest / smallest > 1000.0 or largest > 1e8
        self.scientific = wide or (not self.integral and smallest < 1e-4)
        if _options["sci_mode"] is not None:
            self.scientific = _options["sci_mode"]

    def text(self, value: Any) -> str:
        if self.kind != "float":
            return str(value)
        if not math.isfinite(value):
            return str(value)
        if self.scientific:
            return f"{value:.{_options['precision']}e}"
        return f"{value:.0f}." if self.integral else f"{value:.{_options['precision']}f}"

    def padded(self, value: Any) -> str:
        return self.text(value).rjust(self.width)


class _ComplexFormatter:
    """Real and imaginary parts, each with a notation of its own."""

    def __init__(self, values: list[complex]) -> None:
        self.real = _Formatter([v.real for v in values], "float")
        self.imag = _Formatter([abs(v.imag) for v in values], "float")

    def padded(self, value: complex) -> str:
        sign = "-" if math.copysign(1.0, value.imag) < 0 else "+"
        return f"{self.real.padded(value.real)}{sign}{self.imag.text(abs(value.imag))}j"


def _summarised(tensor: Tensor) -> bool:
    return tensor.numel() > _options["threshold"]


def _edges(tensor: Tensor, summarise: bool) -> list:
    """Nested lists of the shown elements; None stands for what is left out."""
    if tensor.ndim == 0:
        return _native.item(tensor)
    size, edge = tensor.shape[0], _options["edgeitems"]
    rows = range(size)
    if summarise and size > 2 * edge:
        shown = [*range(edge), None, *range(size - edge, size)]
    else:
        shown = list(rows)
    return [None if i is None else _edges(ops.select(tensor, 0, i), summarise) for i in shown]


def _leaves(nested: Any, out: list) -> list:
    if isinstance(nested, list):
        for item in nested:
            _leaves(item, out)
    elif nested is not None:
        out.append(nested)
    return out


def _layout(nested: Any, formatter: Any, indent: int, rank: int) -> str:
    if not isinstance(nested, list):
        return formatter.padded(nested)
    if rank == 1:
        items = [" ..." if v is None else formatter.padded(v) for v in nested]
        lines, line = [], ""
        for position, item in enumerate(items):
            piece = item if position == len(items) - 1 else item + ", "
            if line and indent + 1 + len(line) + len(piece.rstrip()) > _options["linewidth"]:
                lines.append(line.rstrip())
                line = ""
            line += piece
        lines.append(line)
        return "[" + ("\n" + " " * (indent + 1)).join(lines) + "]"
    parts = ["..." if item is None else _layout(item, formatter, indent + 1, rank - 1) for item in nested]
    return "[" + ("," + "\n" * (rank - 1) + " " * (indent + 1)).join(parts) + "]"


def _body(tensor: Tensor, indent: int) -> str:
    if tensor.numel() == 0:
        return "[]"
    plain = tensor.detach().cpu()
    if plain.dtype.is_floating_point and plain.dtype.itemsize == 2:
        plain = plain.float()
    nested = _edges(plain, _summarised(plain))
    values = _leaves(nested, [])
    if plain.dtype.is_complex:
        formatter: Any = _ComplexFormatter(values)
    else:
        formatter = _Formatter(values, "float" if plain.dtype.is_floating_point else "other")
    return _layout(nested, formatter, indent, plain.ndim)


def _global_repr(self: Tensor) -> str:
    """Nothing is asked of other processes: the whole where this one holds all of it, else the parts it has."""
    layout = _native.layout_of(self, "repr")
    where = layout.placement
    how = ", ".join(map(repr, map(sbp_module.from_core, layout.sbp)))
    how = f"({how},)" if len(layout.sbp) == 1 else f"({how})"
    suffix = f"placement={placement._of(where)!r}, sbp={how}, size={tuple(self.shape)}"
    if self.dtype.name not in ("bool", "int64", _native.default_dtype().name, "complex64"):
        suffix += f", dtype={self.dtype}"
    if not self.is_leaf:
        suffix += f", grad_fn={_native.grad_fn(self)!r}"
    elif self.requires_grad:
        suffix += ", requires_grad=True"
    here = where.addressable()
    if len(here) == len(where.ranks):
        return f"tensor({_body(_native.whole_here(self), len('tensor('))}, {suffix})"
    held = [f"rank {where.ranks[position]}: " for position in here]
    parts = [name + _body(part, len(name)) for name, part in zip(held, _native.to_parts(self.detach()), strict=True)]
    return f"tensor(\n{''.join(part + chr(10) for part in parts)}{suffix})"


def tensor_repr(self: Tensor) -> str:
    """The text that repr() and print() show."""
    if _native.is_symbolic(self):
        return f"tensor(traced, size={tuple(self.shape)}, dtype={self.dtype})"
    if _native.is_global(self):
        return _global_repr(self)
    prefix = "tensor("
    if type(self) is not Tensor and type(self).__name__ == "Parameter":
        prefix = "Parameter containing:\ntensor("
    text = prefix + _body(self, len("tensor("))
    implied = ("bool", "int64", _native.default_dtype().name, "complex64")
    suffixes = [f"device='{self.device}'"] if self.is_cuda else []
    if self.numel() == 0 and self.ndim != 1:
        suffixes.append(f"size={tuple(self.shape)}")
    if self.dtype.name not in implied or (self.numel() == 0 and self.dtype.name != _native.default_dtype().name):
        suffixes.append(f"dtype={self.dtype}")
    if not self.is_leaf:
        suffixes.append(f"grad_fn={_native.grad_fn(self)!r}")
    elif self.requires_grad:
        suffixes.append("requires_grad=True")
    return text + "".join(", " + suffix for suffix in suffixes) + ")"


def tensor_format(self: Tensor, spec: str) -> str:
    """format() of a 0-dim tensor is that of its number."""
    if self.ndim == 0 and spec:
        return format(_native.item(self), spec)
    return format(tensor_repr(self), spec)


set_slots(repr=tensor_repr)
attach("__format__", tensor_format)
