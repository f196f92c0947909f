"""Functions that a user attaches to a module: around forward, around backward, and the handle that detaches them."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from itertools import count

import thalweg as tw

__all__ = ["CallHooks", "RemovableHandle", "call_with_hooks"]

_next_id = count()


class RemovableHandle:
    """Detaches one registered hook; as a context manager it does so on exit.

    >>> import thalweg as tw
    >>> layer = tw.nn.Identity()
    >>> handle = layer.register_forward_hook(lambda module, args, output: output + 1)
    >>> layer(tw.zeros(1)).item()
    1.0
    >>> handle.remove()
    >>> layer(tw.zeros(1)).item()
    0.0
    """

    def __init__(self, hooks):
        self.id = next(_next_id)
        self._hooks = weakref.ref(hooks)

    def remove(self):
        """Detaches the hook; doing so twice is harmless."""
        hooks = self._hooks()
        if hooks is not None:
            hooks.pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.remove()

    def __getstate__(self):
        return self.id, self._hooks()

    def __setstate__(self, state):
        self.id, hooks = state
        self._hooks = weakref.ref(OrderedDict() if hooks is None else hooks)


class HookDict(OrderedDict):
    """Hooks by handle id, in the order in which they run; each with the flags it was registered with."""

    def add(self, hook, *, prepend=False, **flags):
        """Appends (or prepends) `hook` and returns its handle."""
        if not callable(hook):
            raise TypeError(f"register hook: a callable is wanted, got {type(hook).__name__}")
        handle = RemovableHandle(self)
        self[handle.id] = (hook, flags)
        if prepend:
            self.move_to_end(handle.id, last=False)
        return handle


class CallHooks:
    """The hooks of one module that run when it is called; made when the first is registered."""

    def __init__(self):
        self.forward_pre = HookDict()
        self.forward = HookDict()
        self.backward_pre = HookDict()
        self.backward = HookDict()


def call_with_hooks(module, forward, hooks, args, kwargs):
    """Runs the module's `forward` between its hooks; hooks marked always_call run when forward raises too."""
    done = set()
    try:
        args, kwargs = _run_forward_pre(module, hooks, args, kwargs)
        record = None
        if hooks.backward or hooks.backward_pre:
            record = _BackwardRecord(module, hooks)
            args = record.watch_inputs(args)
        result = forward(*args, **kwargs)
        for hook_id, (hook, flags) in list(hooks.forward.items()):
            done.add(hook_id)
            result = _run_forward_hook(module, hook, flags, args, kwargs, result)
        return result if record is None else record.watch_outputs(result)
    except Exception:
        for hook_id, (hook, flags) in list(hooks.forward.items()):
            if flags["always_call"] and hook_id not in done:
                _run_forward_hook(module, hook, flags, args, kwargs, None)
        raise


def _run_forward_pre(module, hooks, args, kwargs):
    for hook, flags in list(hooks.forward_pre.values()):
        if flags["with_kwargs"]:
            changed = hook(module, args, kwargs)
            if changed is None:
                continue
            if not (isinstance(changed, tuple) and len(changed) == 2):
                raise TypeError(f"forward pre-hook: None or (args, kwargs) is wanted, got {type(changed).__name__}")
            args, kwargs = changed
        else:
            changed = hook(module, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
    return args, kwargs


def _run_forward_hook(module, hook, flags, args, kwargs, result):
    changed = hook(module, args, kwargs, result) if flags["with_kwargs"] else hook(module, args, result)
    return result if changed is None else changed


class _BackwardRecord:
    """Joins the two gates of one call: gradients of the outputs pass the first, those of the inputs the second."""

    def __init__(self, module, hooks):
        self.module = module
        self.hooks = hooks
        self.input_count = 0
        self.input_slots = None  # positions of the tensors that pass the input gate, None when none needs a gradient
        self.output_slots = ()
        self.output_count = 0
        self.grad_output = None

    def watch_inputs(self, args):
        self.input_count = len(args)
        slots = [i for i, arg in enumerate(args) if isinstance(arg, tw.Tensor)]
        if not tw.is_grad_enabled() or not any(args[i].requires_grad for i in slots):
            return args
        self.input_slots = slots
        return _replace(args, slots, _Gate.apply(self.inputs_ready, *[args[i] for i in slots]))

    def watch_outputs(self, result):
        outputs = result if isinstance(result, tuple) else (result,)
        slots = [i for i, out in enumerate(outputs) if isinstance(out, tw.Tensor)]
        self.output_slots, self.output_count = slots, len(outputs)
        if not tw.is_grad_enabled() or not any(outputs[i].requires_grad for i in slots):
            return result
        outputs = _replace(outputs, slots, _Gate.apply(self.outputs_ready, *[outputs[i] for i in slots]))
        return outputs if isinstance(result, tuple) else outputs[0]

    def outputs_ready(self, grads):
        grad_output = _spread(grads, self.output_slots, self.output_count)
        for hook, _ in list(self.hooks.backward_pre.values()):
            grad_output = _checked(hook(self.module, grad_output), grad_output, "full backward pre-hook")
        self.grad_output = grad_output
        if self.input_slots is None:
            self.run((None,) * self.input_count)
        return tuple(grad_output[i] for i in self.output_slots)

    def inputs_ready(self, grads):
        grad_input = self.run(_spread(grads, self.input_slots, self.input_count))
        return tuple(grad_input[i] for i in self.input_slots)

    def run(self, grad_input):
        for hook, _ in list(self.hooks.backward.values()):
            changed = hook(self.module, grad_input, self.grad_output)
            grad_input = _checked(changed, grad_input, "full backward hook")
        return grad_input


class _Gate(tw.autograd.Function):
    """The identity, whose backward lets `ready` see and replace all the gradients at once."""

    @staticmethod
    def forward(ctx, ready, *tensors):
        ctx.ready = ready
        ctx.set_materialize_grads(False)
        return tuple(tensor.view_as(tensor) for tensor in tensors)

    @staticmethod
    def backward(ctx, *grads):
        return (None, *ctx.ready(grads))


def _replace(values, slots, tensors):
    values = list(values)
    for slot, tensor in zip(slots, tensors):
        values[slot] = tensor
    return tuple(values)


def _spread(tensors, slots, size):
    return _replace((None,) * size, slots, tensors)


def _checked(changed, grads, what):
    if changed is None:
        return grads
    changed = changed if isinstance(changed, tuple) else (changed,)
    if len(changed) != len(grads):
        raise ValueError(f"{what}: {len(grads)} gradients are wanted, got {len(changed)}")
    return changed
