"""Module: a function with state. It finds its parameters, buffers and submodules as they are assigned."""

from __future__ import annotations

from collections import OrderedDict

import thalweg as tw
from thalweg._core._native import touch_modules
from thalweg.jit.context import tracing
from thalweg.nn.convert import ConvertMixin
from thalweg.nn.hooks import CallHooks, call_with_hooks
from thalweg.nn.parameter import Buffer, Parameter
from thalweg.nn.state import StateMixin
from thalweg.nn.tree import TreeMixin

__all__ = ["Module"]


class Module(TreeMixin, StateMixin, ConvertMixin):
    """The base class of all layers and models; a subclass defines `forward`.

    Parameters, buffers and modules assigned as attributes are registered, so that they are trained, moved and saved
    with the module. A call without hooks goes straight to `forward`.

    >>> import thalweg as tw
    >>> class Scale(tw.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factor = tw.nn.Parameter(tw.tensor(3.0))
    ...     def forward(self, x):
    ...         return self.factor * x
    >>> Scale()(tw.tensor(2.0)).item()
    6.0
    """

    training: bool

    def __init__(self):
        put = object.__setattr__  # our own __setattr__ sorts values, which these need not
        put(self, "training", True)
        put(self, "_parameters", OrderedDict())
        put(self, "_buffers", OrderedDict())
        put(self, "_non_persistent_buffers_set", set())
        put(self, "_call_hooks", None)
        put(self, "_modules", OrderedDict())

    # ---- calling

    def forward(self, *args, **kwargs):
        """What the module computes; every subclass that is called defines it."""
        raise NotImplementedError(f"forward: {type(self).__name__} does not define it")

    def __call__(self, *args, **kwargs):
        if tracing.watcher is not None:
            return tracing.watcher.call_module(self, self._call, args, kwargs)
        return self._call(*args, **kwargs)

    def _call(self, *args, **kwargs):
        hooks = self._call_hooks
        if hooks is None:
            return self.forward(*args, **kwargs)
        return call_with_hooks(self, self.forward, hooks, args, kwargs)

    def _call_traced(self, *args, **kwargs):
        forward = tracing.current.converted(self.forward)
        if self._call_hooks is None:
            return forward(*args, **kwargs)
        return call_with_hooks(self, forward, self._call_hooks, args, kwargs)

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        """Runs `hook(module, args)` before forward; a result other than None replaces the arguments.

        With `with_kwargs` it is `hook(module, args, kwargs)`, which may return (args, kwargs). Returns a handle.
        """
        return self._need_call_hooks().forward_pre.add(hook, prepend=prepend, with_kwargs=with_kwargs)

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        """Runs `hook(module, args, output)` after forward; a result other than None replaces the output.

        With `with_kwargs` it is `hook(module, args, kwargs, output)`; with `always_call` it runs, with output None,
        when forward raises too. Returns a handle.
        """
        hooks = self._need_call_hooks().forward
        return hooks.add(hook, prepend=prepend, with_kwargs=with_kwargs, always_call=always_call)

    def register_full_backward_pre_hook(self, hook, prepend=False):
        """Runs `hook(module, grad_output)` when the outputs' gradients arrive; its result replaces them."""
        return self._need_call_hooks().backward_pre.add(hook, prepend=prepend)

    def register_full_backward_hook(self, hook, prepend=False):
        """Runs `hook(module, grad_input, grad_output)` when the inputs' gradients are known.

        Both are tuples, with None where an argument is no tensor or needs no gradient; a result other than None
        replaces grad_input. Returns a handle.
        """
        return self._need_call_hooks().backward.add(hook, prepend=prepend)

    def _need_call_hooks(self):
        if self._call_hooks is None:
            object.__setattr__(self, "_call_hooks", CallHooks())
            touch_modules()
        return self._call_hooks

    # ---- attributes

    def __getattr__(self, name):
        state = self.__dict__
        if "_modules" in state:  # it is missing before __init__ and while unpickling; written out, for speed
            if name in state["_parameters"]:
                return state["_parameters"][name]
            if name in state["_modules"]:
                return state["_modules"][name]
            if name in state["_buffers"]:
                return state["_buffers"][name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name, value):
        state = self.__dict__
        if isinstance(value, (Parameter, Buffer, Module)) and "_modules" not in state:
            raise AttributeError(f"{type(self).__name__}: call super().__init__() before assigning {name!r}")
        if isinstance(value, Parameter):
            self._forget(name, self._parameters)
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            self._forget(name, self._modules)
            self.register_module(name, value)
        elif isinstance(value, Buffer):
            self._forget(name, self._buffers)
            self.register_buffer(name, value, value.persistent)
        elif state.get(name, state) is not value and not self._replace_member(state, name, value):
            touch_modules()
            object.__setattr__(self, name, value)

    def _replace_member(self, state, name, value):
        """Whether `name` is a registered member, which then takes `value`: a tensor for a buffer, or None."""
        for kind in ("_parameters", "_modules", "_buffers"):
            members = state.get(kind)
            if members is None or name not in members:
                continue
            if value is not None and not (kind == "_buffers" and isinstance(value, tw.Tensor)):
                wanted = {"_parameters": "a Parameter", "_modules": "a Module", "_buffers": "a Tensor"}[kind]
                raise TypeError(f"{type(self).__name__}.{name}: {wanted} or None is wanted, got {type(value).__name__}")
            members[name] = value
            touch_modules()
            return True
        return False

    def __delattr__(self, name):
        touch_modules()
        for members in (self._parameters, self._buffers, self._modules):
            if name in members:
                del members[name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self):
        names = set(super().__dir__()) | set(self._parameters) | set(self._buffers) | set(self._modules)
        return sorted(name for name in names if not name[:1].isdigit())

    def register_parameter(self, name, param):
        """Adds `param`, a Parameter or None, under `name`; the same as assigning it."""
        if param is not None and not isinstance(param, Parameter):
            got = type(param).__name__
            raise TypeError(f"register_parameter: a Parameter or None is wanted for {name!r}, got {got}")
        if param is not None and param.grad_fn is not None:
            raise ValueError(f"register_parameter: {name!r} must be a leaf, got the result of {param.grad_fn}")
        self._register(self._parameters, name, param)

    def register_buffer(self, name, tensor, persistent=True):
        """Adds `tensor`, a Tensor or None, as a buffer; only a persistent one is part of state_dict."""
        if tensor is not None and not isinstance(tensor, tw.Tensor):
            raise TypeError(f"register_buffer: a Tensor or None is wanted for {name!r}, got {type(tensor).__name__}")
        self._register(self._buffers, name, tensor)
        (self._non_persistent_buffers_set.discard if persistent else self._non_persistent_buffers_set.add)(name)

    def register_module(self, name, module):
        """Adds `module`, a Module or None, under `name`; the same as assigning it."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"add_module: a Module or None is wanted for {name!r}, got {type(module).__name__}")
        self._register(self._modules, name, module)

    add_module = register_module

    def _register(self, members, name, value):
        if not isinstance(name, str):
            raise TypeError(f"{type(self).__name__}: a name must be a string, got {type(name).__name__}")
        if not name or "." in name:
            raise KeyError(f"{type(self).__name__}: a name must be non-empty and without '.', got {name!r}")
        if name not in members and hasattr(self, name):
            raise KeyError(f"{type(self).__name__}: attribute {name!r} already exists")
        members[name] = value
        touch_modules()

    def _forget(self, name, members):
        """Drops whatever `name` means outside `members`, so that an assigned name has one meaning."""
        self.__dict__.pop(name, None)
        for other in (self._parameters, self._buffers, self._modules):
            if other is not members:
                other.pop(name, None)

    def __setstate__(self, state):
        self.__dict__.update(state)
        touch_modules()

    # ---- modes

    def train(self, mode=True):
        """Puts this module and all below it in training mode (or, with False, evaluation mode); returns it."""
        if not isinstance(mode, bool):
            raise TypeError(f"train: mode must be a bool, got {type(mode).__name__}")
        for module in self.modules():
            if module.training is not mode:
                object.__setattr__(module, "training", mode)
                touch_modules()
        return self

    def eval(self):
        """Evaluation mode: dropout is off, normalisation uses its running statistics; returns the module."""
        return self.train(False)

    def requires_grad_(self, requires_grad=True):
        """Whether autograd records operations on the parameters, for all of them; returns the module."""
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none=True):
        """Drops all parameters' gradients, or with set_to_none=False fills them with zeros."""
        for param in self.parameters():
            if param.grad is None:
                continue
            if set_to_none:
                param.grad = None
            else:
                param.grad = tw.zeros_like(param.grad) if param.grad.requires_grad else param.grad.detach().zero_()

    # ---- text

    def extra_repr(self):
        """The text between the parentheses of repr; a subclass says there how it was made."""
        return ""

    def _get_name(self):
        return type(self).__name__

    def __repr__(self):
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): {module!r}" for name, module in self._modules.items()]
        if not children and len(lines) < 2:
            return f"{self._get_name()}({extra})"
        body = "\n".join(lines + children).replace("\n", "\n  ")
        return f"{self._get_name()}(\n  {body}\n)"
