"""Torch values to thalweg values and back to NumPy, through NumPy alone.

A tensor is rebuilt over a flat buffer with the same strides and offset, so that a non-contiguous sample stays one.
bfloat16, which NumPy lacks, crosses as int16 bits. thalweg's side lies on the device that `use_device` names.
"""

import inspect
import os
import types

import numpy as np
import thalweg as tw
import torch
from thalweg._core import _native

_STORAGE_EXTENT_LIMIT = 1 << 26
_NUMPY_DIMS = 32
_device = tw.device("cpu")


def use_device(name):
    """Where thalweg's tensors are made from now on; LookupError with the reason where there is no such device.

    THALWEG_CUDA_EMULATOR, the path of the emulated CUDA library, gives it some.
    """
    global _device
    if name == "cuda" and (emulator := os.environ.get("THALWEG_CUDA_EMULATOR")):
        _native.load_accelerator(emulator)
    if name == "cuda" and not tw.cuda.is_available():
        raise LookupError(f"no CUDA devices: {tw.cuda.why_unavailable()}")
    _device = tw.device(name)


def device():
    return _device


class Inconvertible(Exception):
    """A torch value that has no counterpart in thalweg by design (sparse or meta tensors, complex32)."""


def dtype_name(dtype):
    return str(dtype).rsplit(".", 1)[-1]


def tw_dtype(dtype):
    name = dtype_name(dtype)
    if name in ("complex32",) or name.startswith(("q", "float8", "uint16", "uint32", "uint64")):
        raise Inconvertible(f"dtype {name}")
    return getattr(tw, name)


def _flat(t):
    """The part of the storage that `t` touches, as a fresh 1-d NumPy array, and whether it holds bfloat16 bits."""
    extent = 1 + sum((n - 1) * s for n, s in zip(t.shape, t.stride())) if t.numel() else 0
    if extent > _STORAGE_EXTENT_LIMIT:
        raise Inconvertible(f"a storage of {extent} elements")
    flat = torch.as_strided(t, (extent,), (1,), t.storage_offset())
    bits = t.dtype is torch.bfloat16
    return (flat.view(torch.int16) if bits else flat).numpy().copy(), bits


def tensor_to_tw(t):
    """A thalweg tensor with the values, dtype, strides and requires_grad of `t`, sharing nothing with it."""
    if t.layout is not torch.strided or t.device.type != "cpu":
        raise Inconvertible(f"a {t.layout} tensor on {t.device}")
    tw_dtype(t.dtype)
    source = t.detach().resolve_conj().resolve_neg()
    if source.is_contiguous():
        bits = source.dtype is torch.bfloat16
        flat = source.reshape(-1) if source.dim() > _NUMPY_DIMS else source
        array = (flat.view(torch.int16) if bits else flat).numpy().copy()
    else:
        array, bits = _flat(source)
    result = tw.from_numpy(array).to(_device)
    result = result.view(tw.bfloat16) if bits else result
    if not source.is_contiguous():
        result = result.as_strided(tuple(source.shape), tuple(source.stride()), 0)
    elif source.dim() > _NUMPY_DIMS:
        result = result.reshape(tuple(source.shape))
    return result.requires_grad_(True) if t.requires_grad else result


def tensor_to_torch(t):
    """A copy of a torch tensor with the same strides, a leaf with the same requires_grad."""
    source = t.detach()
    if source.layout is not torch.strided or source.device.type != "cpu":
        copy = source.clone()
    elif source.is_contiguous():
        copy = source.clone(memory_format=torch.contiguous_format)
    else:
        extent = 1 + sum((n - 1) * s for n, s in zip(source.shape, source.stride())) if source.numel() else 0
        flat = torch.as_strided(source, (extent,), (1,), source.storage_offset()).clone()
        copy = torch.as_strided(flat, source.shape, source.stride(), 0)
    return copy.requires_grad_(t.requires_grad)


def to_numpy(t):
    """The values of a torch or thalweg tensor as a NumPy array; bfloat16 becomes float32."""
    t = t.detach().cpu()
    if isinstance(t, torch.Tensor):
        t = t.resolve_conj().resolve_neg().clone()  # clone: a zero tensor of autograd's has no memory
    if dtype_name(t.dtype) != "bfloat16":
        return np.asarray(t.numpy())
    bits = t.contiguous().view(torch.int16 if isinstance(t, torch.Tensor) else tw.int16).numpy()
    return (np.asarray(bits).astype(np.uint16).astype(np.uint32) << 16).view(np.float32)


def _same_class(cls, items):
    return cls(*items)


def rebuild(tree, leaf, named=_same_class):
    """`tree` with leaf(x) for everything that is not a container, and named(class, items) for named tuples."""
    if isinstance(tree, torch.Size):
        return leaf(tree)
    if isinstance(tree, (list, tuple)):
        items = [rebuild(x, leaf, named) for x in tree]
        if hasattr(tree, "_fields"):
            return named(type(tree), items)
        return items if isinstance(tree, list) else tuple(items)
    if isinstance(tree, dict):
        return {k: rebuild(v, leaf, named) for k, v in tree.items()}
    if isinstance(tree, slice):
        return slice(*(rebuild(x, leaf, named) for x in (tree.start, tree.stop, tree.step)))
    return leaf(tree)


def tensors_of(tree):
    """Every torch or thalweg tensor in `tree`, once, in order."""
    found = {}

    def visit(x):
        if isinstance(x, (torch.Tensor, tw.Tensor)):
            found.setdefault(id(x), x)
        return x

    rebuild(tree, visit, lambda cls, items: items)
    return list(found.values())


class ToThalweg:
    """Converts trees; `memo` maps id(torch tensor) to its thalweg tensor."""

    def __init__(self):
        self.memo = {}
        self._keep = []

    def __call__(self, tree):
        return rebuild(tree, self._leaf, self._named)

    def _named(self, cls, items):
        return getattr(tw.nn.utils.rnn, cls.__name__)(*items) if cls.__module__.startswith("torch") else cls(*items)

    def _leaf(self, x):
        if isinstance(x, torch.Tensor):
            if id(x) not in self.memo:
                self.memo[id(x)] = tensor_to_tw(x)
                self._keep.append(x)
            return self.memo[id(x)]
        if isinstance(x, torch.dtype):
            return tw_dtype(x)
        if isinstance(x, torch.device):
            if x.type != "cpu":
                raise Inconvertible(f"device {x}")
            return _device
        if isinstance(x, (torch.layout, torch.memory_format)):
            name = dtype_name(x)
            if name.startswith("sparse") or name == "jagged":
                raise Inconvertible(f"layout {name}")
            return getattr(tw, name)
        if isinstance(x, torch.Size):
            return tuple(x)
        if isinstance(x, torch.Generator):
            return tw.Generator().manual_seed(x.initial_seed())
        if isinstance(x, torch.nn.Module):
            return _module(x)
        if isinstance(x, (types.FunctionType, types.BuiltinFunctionType)):
            from .names import retarget

            return retarget(x)
        if type(x).__module__.startswith("torch."):
            raise Inconvertible(f"a {type(x).__name__}")
        return x


def _module(m):
    """A module given as an argument, from its attributes: a distance function, or a layer that a stack repeats."""
    if isinstance(m, torch.nn.TransformerEncoderLayer):
        return _encoder_layer(m)
    wanted = inspect.signature(type(m).__init__).parameters
    kept_as = {"p": "norm"}
    constants = {k: getattr(m, kept_as.get(k, k)) for k in wanted if hasattr(m, kept_as.get(k, k))}
    return getattr(tw.nn, type(m).__name__)(**constants)


def _encoder_layer(m):
    layer = tw.nn.TransformerEncoderLayer(
        m.linear1.in_features,
        m.self_attn.num_heads,
        m.linear1.out_features,
        m.dropout.p,
        ToThalweg()(m.activation),
        m.norm1.eps,
        m.self_attn.batch_first,
        m.norm_first,
        m.linear1.bias is not None,
    )
    layer = layer.to(tw_dtype(m.linear1.weight.dtype))
    layer.load_state_dict(ToThalweg()({k: v.detach() for k, v in m.state_dict().items()}))
    return layer


class ToTorch(ToThalweg):
    """Fresh copies on torch's side, so that a call that writes its inputs leaves the sample alone."""

    def _named(self, cls, items):
        return cls(*items)

    def _leaf(self, x):
        if isinstance(x, torch.Tensor):
            if id(x) not in self.memo:
                self.memo[id(x)] = tensor_to_torch(x)
                self._keep.append(x)
            return self.memo[id(x)]
        return x
