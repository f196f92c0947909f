"""The base of all optimizers: parameter groups, state, hooks, and the walk over them in a step."""

from __future__ import annotations

import copy
import functools
from collections import defaultdict
from itertools import chain

import thalweg as tw
from thalweg._core import _native
from thalweg.jit.context import tracing
from thalweg.nn.hooks import HookDict
from thalweg.nn.state import placed_as

__all__ = ["Optimizer"]

required = object()  # marks an option of a group that has no default


def _traceable(step):
    """A step of a subclass that writes its own: in a trace, options and counts become the program's numbers first."""

    @functools.wraps(step)
    def traceable(self, *args, **kwargs):
        if tracing.current is not None:
            tracing.current.lift_optimizer(self)
        return step(self, *args, **kwargs)

    return traceable


class Optimizer:
    """Holds groups of parameters with their options, and a state per parameter.

    Args:
        params: an iterable of tensors, of (name, tensor) pairs, or of dicts that each have "params" and options.
        defaults: the options of groups that do not state them.

    A subclass gives `_new_state(param, group)`, the first state of a parameter as a dict, and `_update(group, params,
    grads, states)`, which works on all tensors of the group at once; it also sees to the option `maximize`.

    Errors: TypeError for what is no tensor, ValueError for no parameter, a non-leaf, or one given twice.

    >>> import thalweg as tw
    >>> weight = tw.nn.Parameter(tw.ones(1))
    >>> optimizer = tw.optim.SGD([weight], lr=0.5)
    >>> (2 * weight).sum().backward()
    >>> optimizer.step()
    >>> weight.item()
    0.0
    """

    _HOOKS = ("step_pre", "step_post", "save_pre", "save_post", "load_pre", "load_post")

    def __init__(self, params, defaults):
        if isinstance(params, tw.Tensor):
            raise TypeError(f"{type(self).__name__}: an iterable of tensors or dicts is wanted, got a Tensor")
        self.defaults = defaults
        self.state = defaultdict(dict)
        self.param_groups = []
        self._hooks = {kind: HookDict() for kind in self._HOOKS}
        self._stepped = False  # whether step ran; schedulers warn when they come first
        groups = list(params)
        if not groups:
            raise ValueError(f"{type(self).__name__}: at least one parameter is wanted, got none")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    # ---- groups

    def add_param_group(self, param_group):
        """Adds a group: a dict with "params" and any options that differ from the defaults.

        >>> import thalweg as tw
        >>> optimizer = tw.optim.SGD([tw.nn.Parameter(tw.ones(1))], lr=0.5)
        >>> optimizer.add_param_group({"params": tw.nn.Parameter(tw.ones(2)), "lr": 0.1})
        >>> [group["lr"] for group in optimizer.param_groups]
        [0.5, 0.1]
        """
        name = type(self).__name__
        if not isinstance(param_group, dict):
            raise TypeError(f"{name}: a dict is wanted as group, got {type(param_group).__name__}")
        group = dict(param_group)
        params = group["params"]
        if isinstance(params, set):
            raise TypeError(f"{name}: parameters in a fixed order are wanted, got a set")
        params = [params] if isinstance(params, tw.Tensor) else list(params)
        if params and all(isinstance(entry, tuple) for entry in params):
            group["param_names"] = [entry[0] for entry in params]
            params = [entry[1] for entry in params]
        group["params"] = params
        for option, default in self.defaults.items():
            if default is required and option not in group:
                raise ValueError(f"{name}: every group must state {option}")
            group.setdefault(option, default)
        self._check_params(params)
        if self.param_groups and ("param_names" in group) != ("param_names" in self.param_groups[0]):
            raise ValueError(f"{name}: names are wanted for the parameters of all groups, or of none")
        self.param_groups.append(group)

    def _check_params(self, params):
        name = type(self).__name__
        for param in params:
            if not isinstance(param, tw.Tensor):
                raise TypeError(f"{name}: tensors are wanted, got {type(param).__name__}")
            if not (param.is_leaf or param.retains_grad):
                raise ValueError(f"{name}: leaf tensors are wanted, got the result of {param.grad_fn}")
        known = {id(param) for group in self.param_groups for param in group["params"]}
        if len({id(param) for param in params} | known) != len(params) + len(known):
            raise ValueError(f"{name}: a parameter appears twice")

    def zero_grad(self, set_to_none=True):
        """Drops all gradients, or with set_to_none=False fills them with zeros."""
        for param in chain.from_iterable(group["params"] for group in self.param_groups):
            if param.grad is None:
                continue
            if set_to_none:
                param.grad = None
            else:
                param.grad = tw.zeros_like(param.grad) if param.grad.requires_grad else param.grad.zero_()

    # ---- the step

    def step(self, closure=None):
        """Updates all parameters that have a gradient.

        Args:
            closure: a function that clears gradients, computes the loss, calls backward and returns the loss; it runs
                first, with gradients enabled.

        Returns: the closure's loss, or None.
        """
        kwargs = {} if closure is None else {"closure": closure}
        for hook, _ in list(self._hooks["step_pre"].values()):
            changed = hook(self, (), kwargs)
            if changed is not None:
                _, kwargs = changed
        closure = kwargs.get("closure")
        loss = None
        if closure is not None:
            with tw.enable_grad():
                loss = closure()
        if tracing.current is not None:
            tracing.current.lift_optimizer(self)
        before = _native.allocate_for_long(True)  # the state
        try:
            with tw.no_grad():
                for group in self.param_groups:
                    self._step_group(group)
        finally:
            _native.allocate_for_long(before)
        self._stepped = True
        for hook, _ in list(self._hooks["step_post"].values()):
            hook(self, (), kwargs)
        return loss

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = _traceable(cls.step)

    def _step_group(self, group):
        params, grads, states = [], [], []
        for param in group["params"]:
            grad = param.grad
            if grad is None:
                continue
            state = self.state[param]
            if not state:
                state.update(self._new_state(param, group))
            params.append(param)
            grads.append(grad)
            states.append(state)
        for placed in _by_placement(params):
            chosen = [[items[i] for i in placed] for items in (params, grads, states)]
            if any(params[i].is_complex() for i in placed):
                self._update_as_real(group, *chosen)
            else:
                self._update(group, *chosen)

    def _update_as_real(self, group, params, grads, states):
        """Complex tensors are updated as pairs of real ones, which share their memory."""
        views = [{name: _as_real(value) for name, value in state.items()} for state in states]
        before = [dict(view) for view in views]
        self._update(group, [_as_real(p) for p in params], [_as_real(g) for g in grads], views)
        for state, view, old, param in zip(states, views, before, params):
            for name, value in view.items():
                if value is not old.get(name):  # a number, or a tensor that this step made
                    is_pair = isinstance(value, tw.Tensor) and param.is_complex()
                    state[name] = tw.view_as_complex(value) if is_pair else value

    def _new_state(self, param, group):
        raise NotImplementedError(f"{type(self).__name__} does not define _new_state")

    def _update(self, group, params, grads, states):
        raise NotImplementedError(f"{type(self).__name__} does not define _update")

    # ---- saving and loading

    def state_dict(self):
        """{"state": state by the parameter's number, "param_groups": options, with numbers for parameters}.

        Numbers count the parameters through all groups. Tensors are shared with the optimizer, not copied.
        """
        for hook, _ in list(self._hooks["save_pre"].values()):
            hook(self)
        number = {}
        for param in chain.from_iterable(group["params"] for group in self.param_groups):
            number[param] = len(number)
        groups = [{**group, "params": [number[param] for param in group["params"]]} for group in self.param_groups]
        state = {number.get(key, key): value for key, value in self.state.items()}
        state_dict = {"state": state, "param_groups": groups}
        for hook, _ in list(self._hooks["save_post"].values()):
            changed = hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        return state_dict

    def load_state_dict(self, state_dict):
        """Takes over a state: options, and copies of the tensors, on their parameters' devices.

        State keeps the dtype it was saved with, whatever the parameter's, so that no bit is lost; the step count is an
        int.

        Errors: ValueError when groups or their sizes differ; then nothing has changed.
        """
        for hook, _ in list(self._hooks["load_pre"].values()):
            changed = hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        saved = state_dict["param_groups"]
        sizes, saved_sizes = ([len(group["params"]) for group in groups] for groups in (self.param_groups, saved))
        if sizes != saved_sizes:
            raise ValueError(f"load_state_dict: groups of {sizes} parameters are wanted, got {saved_sizes}")
        numbers = chain.from_iterable(group["params"] for group in saved)
        params = dict(zip(numbers, chain.from_iterable(group["params"] for group in self.param_groups)))
        state = defaultdict(dict)
        for key, value in state_dict["state"].items():
            param = params.get(key)
            state[key if param is None else param] = _owned_copy(value, param)
        groups = []
        for group, saved_group in zip(self.param_groups, saved):
            options = {name: copy.deepcopy(value) for name, value in saved_group.items() if name != "params"}
            groups.append({**group, **options, "params": group["params"]})
        self.__setstate__({"state": state, "param_groups": groups})
        for hook, _ in list(self._hooks["load_post"].values()):
            hook(self)

    def __getstate__(self):
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self.__dict__.setdefault("_hooks", {kind: HookDict() for kind in self._HOOKS})
        self.__dict__.setdefault("_stepped", False)
        for group in self.param_groups:  # groups of an older version lack the newer options
            for option, default in self.defaults.items():
                group.setdefault(option, default)

    # ---- hooks

    def register_step_pre_hook(self, hook):
        """Runs `hook(optimizer, args, kwargs)` before each step; it may return new (args, kwargs). Returns a handle."""
        return self._hooks["step_pre"].add(hook)

    def register_step_post_hook(self, hook):
        """Runs `hook(optimizer, args, kwargs)` after each step. Returns a handle."""
        return self._hooks["step_post"].add(hook)

    def register_state_dict_pre_hook(self, hook, prepend=False):
        """Runs `hook(optimizer)` before saving. Returns a handle."""
        return self._hooks["save_pre"].add(hook, prepend=prepend)

    def register_state_dict_post_hook(self, hook, prepend=False):
        """Runs `hook(optimizer, state_dict)` after saving; it may return another dict. Returns a handle."""
        return self._hooks["save_post"].add(hook, prepend=prepend)

    def register_load_state_dict_pre_hook(self, hook, prepend=False):
        """Runs `hook(optimizer, state_dict)` before loading; it may return another dict. Returns a handle."""
        return self._hooks["load_pre"].add(hook, prepend=prepend)

    def register_load_state_dict_post_hook(self, hook, prepend=False):
        """Runs `hook(optimizer)` after loading. Returns a handle."""
        return self._hooks["load_post"].add(hook, prepend=prepend)

    # ---- text

    def __repr__(self):
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            lines += [f"    {name}: {group[name]}" for name in sorted(group) if name not in ("params", "param_names")]
        return "\n".join([*lines, ")"])


def _by_placement(params):
    """The numbers of the parameters that can be updated in one call: the local ones, and those of each placement."""
    groups = {}
    for i, param in enumerate(params):
        groups.setdefault(param.placement if param.is_global else None, []).append(i)
    return groups.values()


def _as_real(value):
    return tw.view_as_real(value) if isinstance(value, tw.Tensor) and value.is_complex() else value


def _owned_copy(value, param, key=None):
    """A copy of a saved state, where its parameter lies, that shares nothing with it; a step count becomes an int."""
    if key == "step":
        return int(value)
    if isinstance(value, tw.Tensor):
        value = value.detach()
        if param is not None and param.is_global and value.shape == param.shape:
            value = placed_as(param.detach(), value)
        return value.clone() if param is None or value.device == param.device else value.to(param.device)
    if isinstance(value, dict):
        return {name: _owned_copy(entry, param, name) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_owned_copy(entry, param) for entry in value)
    return copy.deepcopy(value)
