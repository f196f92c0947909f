"""The forward checks of one (op, dtype, sample): each returns None (agrees), SKIP, or a sentence on what differs."""

import operator

import numpy as np
import torch

from . import on_device, ties
from .compare import TOLERANCES, compare
from .convert import dtype_name, rebuild, tensors_of, to_numpy, tw_dtype
from .demanded import UNWRITTEN, UP_TO_SIGNS
from .draws import DRAWS, unseeded
from .outcome import SKIP, Rejected, accepted, first_line
from .sides import THALWEG, TORCH

_WIDE = {"float16": "float64", "bfloat16": "float64", "float32": "float64", "complex64": "complex128"}


def _torch(fn, sample, seed=42):
    input, args, kwargs, _ = TORCH.inputs(sample)
    try:
        return TORCH.call(fn, input, args, kwargs, seed), input
    except Exception as e:
        raise Rejected(first_line(e)) from None


def widened(sample):
    """The sample with its float tensors (and dtype arguments) in float64, or None when it has none."""
    changed = False

    def leaf(x):
        nonlocal changed
        if isinstance(x, torch.Tensor) and dtype_name(x.dtype) in _WIDE and x.layout is torch.strided:
            changed = True
            return x.detach().to(getattr(torch, _WIDE[dtype_name(x.dtype)])).requires_grad_(x.requires_grad)
        if isinstance(x, torch.dtype) and dtype_name(x) in _WIDE:
            return getattr(torch, _WIDE[dtype_name(x)])
        return x

    input, args, kwargs = rebuild((sample.input, sample.args, sample.kwargs), leaf)
    if not changed:
        return None
    return type(sample)(
        input, args=args, kwargs=kwargs, output_process_fn_grad=sample.output_process_fn_grad, name=sample.name
    )


def _exact(fn, sample):
    """A function (for `compare`) that gives torch's result from float64 inputs."""
    cache = []

    def result():
        if not cache:
            wide = widened(sample)
            try:
                cache.append(_torch(fn, wide)[0] if wide is not None else None)
            except Rejected:
                cache.append(None)
        return cache[0]

    return result


def _arrays(tree):
    found = []
    rebuild(tree, lambda x: found.append(to_numpy(x) if isinstance(x, torch.Tensor) else np.asarray(x)))
    return found


def repeatable(fn, sample):
    """Whether torch gives the same result for another seed."""
    fn = unseeded(fn)
    want, other = _torch(fn, sample)[0], _torch(fn, sample, seed=7)[0]
    return all(np.array_equal(a, b, equal_nan=a.dtype.kind in "fc") for a, b in zip(_arrays(want), _arrays(other)))


def drawn(op, fn, sample):
    """The op's entry in DRAWS when the generator decides the result, else None."""
    draw = DRAWS.get(op.name)
    return draw if draw is not None and not repeatable(fn, sample) else None


def agree(op, torch_fn, tw_fn, sample):
    """The call through both frameworks."""
    want, _ = _torch(torch_fn, sample)
    for tensor in tensors_of(want):
        tw_dtype(tensor.dtype)  # Inconvertible where only torch has it
    got = _thalweg(tw_fn, sample)
    if message := on_device.misplaced(sample, got):
        return message
    draw = drawn(op, torch_fn, sample)
    if draw is not None:
        again = _thalweg(tw_fn, sample.noncontiguous())
        return compare(want, got, values=False) or draw.holds(sample, got) or _same(got, again)
    if ties.apply(op.name, sample):
        return ties.agree(op.name, sample, want, got)
    if op.name in UP_TO_SIGNS:
        finish = sample.output_process_fn_grad
        return compare(want, got, values=False) or compare(finish(want), THALWEG.target(finish)(got))
    return compare(want, got, _exact(torch_fn, sample), on_device.factor(op.name, sample), op.name not in UNWRITTEN)


def _thalweg(fn, sample):
    input, args, kwargs, _ = THALWEG.inputs(sample)
    return THALWEG.call(fn, input, args, kwargs)


def _same(one, other):
    """That a draw does not depend on the strides of the inputs.

    Sums in it may round otherwise, and a softmax makes much of that; other numbers would be others altogether.
    """
    for a, b in zip(tensors_of(one), tensors_of(other)):
        rtol, atol = (100 * tolerance for tolerance in TOLERANCES.get(dtype_name(a.dtype), (0, 0)))
        if not np.allclose(to_numpy(a), to_numpy(b), rtol, atol, equal_nan=True):
            return "the same seed gives other numbers for other strides"
    return None


def value(op, sample):
    return agree(op, op.op, THALWEG.function(op), sample)


def noncontiguous(op, sample):
    return agree(op, op.op, THALWEG.function(op), sample.noncontiguous())


def method(op, sample):
    if op.method_variant is None or not isinstance(sample.input, torch.Tensor) or op.method_variant is op.op:
        return SKIP
    return agree(op, op.method_variant, THALWEG.target(op.method_variant), sample)


def operator_variant(op, sample):
    """`a + b` and its kin; what Python's operator takes is one or two positional operands."""
    fn = op.operator_variant
    if fn is None or sample.kwargs or len(sample.args) > 1 or not isinstance(sample.input, torch.Tensor):
        return SKIP
    return agree(op, fn, fn, sample)


def alias(op, sample):
    """Other names of the same function (`absolute` for `abs`), where thalweg has them."""
    for other in op.aliases:
        if getattr(THALWEG.module, other.name.split(".")[0], None) is None or other.op is None:
            continue
        message = agree(op, other.op, THALWEG.target(other.op), sample)
        if message:
            return f"{other.name}: {message}"
    return None if op.aliases else SKIP


def _written(side, fn, sample):
    """(result, the tensor that was written) of an in-place call on a clone of the input."""
    input, args, kwargs, _ = side.inputs(sample)
    with side.no_grad():
        target = input.clone()
        return side.call(fn, target, args, kwargs), target


def in_place(op, sample):
    """The variant that writes its input: same values, same object, and an error where torch has one."""
    return _in_place(op, op.inplace_variant, sample)


def in_place_operator(op, sample):
    if sample.kwargs or len(sample.args) > 1:
        return SKIP
    fn = op.inplace_operator_variant
    return _in_place(op, fn if fn is not None and hasattr(operator, fn.__name__) else None, sample)


def _in_place(op, fn, sample):
    if fn is None or not isinstance(sample.input, torch.Tensor):
        return SKIP
    tw_fn = THALWEG.target(fn)
    try:
        want, _ = _written(TORCH, fn, sample)
    except Exception as e:
        return _must_raise(lambda: _written(THALWEG, tw_fn, sample), first_line(e))
    got, target = _written(THALWEG, tw_fn, sample)
    if got is not target:
        return "the in-place call does not return the tensor that it was given"
    draw = drawn(op, op.op, sample)
    if draw is not None:
        return compare(want, got, values=False) or draw.holds(sample, got)
    return compare(want, got, _exact(op.op, sample), on_device.factor(op.name, sample), op.name not in UNWRITTEN)


def _must_raise(call, reason):
    try:
        call()
    except Exception as e:
        return accepted(e)
    return f"torch raises ({reason}), thalweg does not"


CHECKS = {
    "value": value,
    "noncontiguous": noncontiguous,
    "method": method,
    "operator": operator_variant,
    "alias": alias,
    "inplace": in_place,
    "inplace_operator": in_place_operator,
}
