"""Changing the device or dtype of everything a module holds; the Parameter objects stay the same."""

from __future__ import annotations

import thalweg as tw
from thalweg._core._native import touch_modules, whole_here
from thalweg.frontend.dtypes import as_dtype
from thalweg.nn.graph_module import GraphModule

__all__ = ["ConvertMixin"]


class ConvertMixin:
    """The part of Module that moves and casts."""

    def _apply(self, fn, recurse=True):
        """Replaces the data of every parameter, gradient and buffer by fn(data)."""
        if recurse:
            for child in self.children():
                child._apply(fn)
        with tw.no_grad():
            for param in self._parameters.values():
                if param is None:
                    continue
                grad = param.grad
                # The gradient leaves first: it must never differ from its parameter in dtype or device.
                param.grad = None
                param.data = fn(param.detach())
                if grad is not None:
                    param.grad = fn(grad.detach()).requires_grad_(grad.requires_grad)
            for name, buffer in self._buffers.items():
                if buffer is not None:
                    self._buffers[name] = fn(buffer)
        touch_modules()
        return self

    def to(self, *args, **kwargs):
        """Moves and casts parameters and buffers in place: to(device), to(dtype), to(device, dtype), to(tensor).

        Args:
            device: where to; a device or its name.
            dtype: a floating or complex dtype, applied to floating and complex tensors only.
            non_blocking: let copies run behind, where the device can.
            memory_format: applied to tensors of 4 or 5 dims.

        Returns: the module itself. With `tw.nn.graph.GraphModule` as the only argument, what graphs do with it.

        Errors: TypeError for a dtype that is neither floating nor complex.

        >>> import thalweg as tw
        >>> tw.nn.Linear(2, 2).to(tw.float64).weight.dtype == tw.float64
        True
        """
        if args and isinstance(args[0], type) and issubclass(args[0], GraphModule):
            return GraphModule(self)
        device, dtype, non_blocking, memory_format = _parse_to(*args, **kwargs)
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(f"to: a floating or complex dtype is wanted, got {dtype}")

        def convert(tensor):
            options = {}
            if device is not None:
                options["device"] = device
            if dtype is not None and (tensor.is_floating_point() or tensor.is_complex()):
                options["dtype"] = dtype
            if memory_format is not None and tensor.dim() in (4, 5):
                options["memory_format"] = memory_format
            return tensor.to(non_blocking=non_blocking, **options) if options else tensor

        return self._apply(convert)

    def to_empty(self, *, device, recurse=True):
        """Gives every parameter and buffer fresh memory on `device`, without copying values; returns the module."""
        return self._apply(lambda tensor: tw.empty_like(tensor, device=device), recurse)

    def to_global(self, placement, sbp):
        """Lays every parameter and buffer out over a placement; returns the module.

        Args:
            placement: where.
            sbp: one sbp (or a list, one for each axis of the placement) for all; or a function of (dotted name, tensor)
                that gives it.

        Local tensors are taken as Tensor.to_global takes them. Parameters stay the same objects.

        >>> import thalweg as tw
        >>> linear = tw.nn.Linear(2, 4)
        >>> plan = {"weight": tw.sbp.split(0), "bias": tw.sbp.split(0)}
        >>> linear.to_global(tw.placement("cpu", [0]), lambda name, tensor: plan[name]).weight.sbp
        (sbp.split(0),)
        """
        names = {id(tensor): name for name, tensor in (*self.named_parameters(), *self.named_buffers())}
        by_name = callable(sbp) and not isinstance(sbp, tw.sbp.sbp)
        done = {}

        def lay_out(tensor, name):
            return tensor.to_global(placement, sbp(name, tensor) if by_name else sbp)

        with tw.no_grad():
            for module in self.modules():
                for param in module._parameters.values():
                    if param is None or id(param) in done:
                        continue
                    done[id(param)] = param
                    grad, param.grad = param.grad, None
                    param.data = lay_out(param.detach(), names[id(param)])
                    if grad is not None:
                        param.grad = grad.to_global(placement, param.sbp)
                for key, buffer in module._buffers.items():
                    if buffer is not None:
                        done.setdefault(id(buffer), lay_out(buffer, names[id(buffer)]))
                        module._buffers[key] = done[id(buffer)]
        touch_modules()
        return self

    def to_local(self):
        """Replaces every global parameter and buffer by what this process holds of it; returns the module.

        A process that owns several ranks of the placement gets the whole instead, which lies on its first one.
        """

        def local(tensor):
            if tensor.is_local:
                return tensor
            parts = tensor.to_local()
            return parts if isinstance(parts, tw.Tensor) else whole_here(tensor).clone()

        return self._apply(local)

    def cpu(self):
        """Moves the module to the CPU; returns it."""
        return self.to("cpu")

    def cuda(self, device=None):
        """Moves the module to a GPU, by default the current one; returns it."""
        return self.to("cuda" if device is None else f"cuda:{device}" if isinstance(device, int) else device)

    def type(self, dst_type):
        """Casts every parameter and buffer, integers too, to `dst_type`; returns the module."""
        return self._apply(lambda tensor: tensor.to(dtype=dst_type))

    def _cast_floating(self, dtype):
        return self._apply(lambda tensor: tensor.to(dtype=dtype) if tensor.is_floating_point() else tensor)

    def float(self):
        """Casts floating tensors to float32; returns the module."""
        return self._cast_floating(tw.float32)

    def double(self):
        """Casts floating tensors to float64; returns the module."""
        return self._cast_floating(tw.float64)

    def half(self):
        """Casts floating tensors to float16; returns the module."""
        return self._cast_floating(tw.float16)

    def bfloat16(self):
        """Casts floating tensors to bfloat16; returns the module."""
        return self._cast_floating(tw.bfloat16)


def _parse_to(*args, device=None, dtype=None, non_blocking=False, memory_format=None, tensor=None):
    for position, arg in enumerate(args):
        if isinstance(arg, tw.Tensor):
            tensor = arg
        elif isinstance(as_dtype(arg), tw.dtype):
            dtype = as_dtype(arg)
        elif isinstance(arg, bool) and position > 0:
            non_blocking = arg
        elif isinstance(arg, (str, int, tw.device)) and position == 0:
            device = f"cuda:{arg}" if isinstance(arg, int) else arg
        elif arg is not None:
            raise TypeError(f"to: a device, a dtype or a tensor is wanted, got {type(arg).__name__}")
    if tensor is not None:
        device, dtype = tensor.device, tensor.dtype
    return device, dtype, non_blocking, memory_format
