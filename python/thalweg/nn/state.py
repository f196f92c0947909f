"""Saving a module's tensors by name and loading them back.

Loading has two phases, so that a refused load changes nothing:
1. plan: walk the modules, pair every parameter and buffer with its entry, collect missing and unexpected names and
   entries of another shape;
2. commit: copy all pairs, hand over extra state, run the post-hooks.
"""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from collections.abc import Mapping

import thalweg as tw
from thalweg._core._native import whole_here
from thalweg.nn.hooks import HookDict
from thalweg.nn.parameter import Parameter

__all__ = ["LoadPlan", "StateMixin"]

EXTRA_STATE = "_extra_state"


class IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What load_state_dict returns: the names it wanted and did not find, and those it found and did not want."""

    def __repr__(self):
        return "<All keys matched successfully>" if not (self[0] or self[1]) else super().__repr__()


class LoadPlan:
    """What a load would do: the copies, the errors, and the names that do not pair up."""

    def __init__(self, state_dict, metadata, strict, assign):
        self.state_dict = state_dict
        self.metadata = metadata
        self.strict = strict
        self.assign = assign
        self.wanted = set()
        self.missing_keys = []
        self.unexpected_keys = []
        self.errors = []
        self.commits = []  # functions of no argument, run in order once the plan has no error
        self.post_hooks = []

    def add(self, key, owner, name, tensor):
        """Pairs `tensor`, kept as `owner[name]`, with the entry `key`."""
        self.wanted.add(key)
        if key not in self.state_dict:
            self.missing_keys.append(key)
            return
        value = self.state_dict[key]
        if not isinstance(value, tw.Tensor):
            self.errors.append(f"{key}: a tensor is wanted, got {type(value).__name__}")
        elif tuple(value.shape) != tuple(tensor.shape):
            self.errors.append(f"{key}: shape {list(tensor.shape)} is wanted, got {list(value.shape)}")
        elif self.assign:
            self.commits.append(lambda: _assign(owner, name, tensor, value))
        else:
            self.commits.append(lambda: tensor.copy_(placed_as(tensor, value)))

    def name_errors(self):
        """One sentence for all missing, one for all unexpected names."""
        texts = []
        if self.missing_keys:
            texts.append("missing: " + ", ".join(self.missing_keys))
        if self.unexpected_keys:
            texts.append("unexpected: " + ", ".join(self.unexpected_keys))
        return texts


def placed_as(tensor, value):
    """`value` where `tensor` lies: a local one is taken for the whole, which every process has."""
    if tensor.is_local:
        return value if value.is_local else whole_here(value)
    if value.is_local:
        return tw.tensor(value, placement=tensor.placement, sbp=tensor.sbp)
    return value.to_global(tensor.placement, tensor.sbp)


def _assign(owner, name, tensor, value):
    if isinstance(tensor, Parameter) and not isinstance(value, Parameter):
        value = Parameter(value, requires_grad=tensor.requires_grad)
    owner[name] = value


class StateMixin:
    """The part of Module that saves and loads."""

    _version = 1
    _state_hooks = None  # dict of HookDict by kind, made when the first is registered

    # ---- saving

    def state_dict(self, *args, destination=None, prefix="", keep_vars=False):
        """All parameters and persistent buffers by dotted name.

        Args:
            destination: a dict to fill; default a new OrderedDict.
            prefix: put before every name.
            keep_vars: keep the tensors as they are; by default they are detached (memory is shared either way).

        Returns: the dict; its `_metadata` attribute holds each module's format version.

        >>> import thalweg as tw
        >>> {name: tuple(t.shape) for name, t in tw.nn.Linear(2, 3).state_dict().items()}
        {'weight': (3, 2), 'bias': (3,)}
        """
        if args:  # the older positional order: destination, prefix, keep_vars
            destination = args[0]
            prefix = args[1] if len(args) > 1 else prefix
            keep_vars = args[2] if len(args) > 2 else keep_vars
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook, _ in self._hooks_of("save_pre"):
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, child in self._modules.items():
            if child is not None:
                child.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook, _ in self._hooks_of("save_post"):
            hook(self, destination, prefix, local_metadata)
        return destination

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        for name, tensor in self._own_state():
            destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if type(self).get_extra_state is not StateMixin.get_extra_state:
            destination[prefix + EXTRA_STATE] = self.get_extra_state()

    def _own_state(self):
        for name, tensor in self._parameters.items():
            if tensor is not None:
                yield name, tensor
        for name, tensor in self._buffers.items():
            if tensor is not None and name not in self._non_persistent_buffers_set:
                yield name, tensor

    def get_extra_state(self):
        """What a subclass wants kept in state_dict besides its tensors; override with set_extra_state."""
        raise NotImplementedError(f"get_extra_state: {type(self).__name__} does not define it")

    def set_extra_state(self, state):
        """Takes back what get_extra_state returned."""
        raise NotImplementedError(f"set_extra_state: {type(self).__name__} does not define it")

    # ---- loading

    def load_state_dict(self, state_dict, strict=True, assign=False):
        """Copies the entries of `state_dict` into the parameters and buffers of the same names.

        Args:
            state_dict: a mapping from name to tensor; dtypes and devices are converted.
            strict: refuse missing and unexpected names; shapes must agree either way.
            assign: take over the given tensors instead of copying their values.

        Returns: (missing_keys, unexpected_keys).

        Errors: ValueError that lists every name at fault, with both shapes; then nothing has been copied. (Names that
        load_state_dict post-hooks might still forgive are judged after them, thus after the copy.)

        >>> import thalweg as tw
        >>> tw.nn.Linear(2, 3).load_state_dict({"weight": tw.ones(3, 2)}, strict=False).missing_keys
        ['bias']
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"load_state_dict: a mapping is wanted, got {type(state_dict).__name__}")
        plan = LoadPlan(dict(state_dict), getattr(state_dict, "_metadata", {}), strict, assign)
        self._plan_load(plan, "")
        plan.unexpected_keys.extend(key for key in plan.state_dict if key not in plan.wanted)
        texts = plan.errors if plan.post_hooks or not strict else plan.name_errors() + plan.errors
        self._refuse(texts)
        with tw.no_grad():
            for commit in plan.commits:
                commit()
        keys = IncompatibleKeys(plan.missing_keys, plan.unexpected_keys)
        for module, hook in plan.post_hooks:
            hook(module, keys)
        if strict:
            self._refuse(plan.name_errors())
        return keys

    def _refuse(self, texts):
        if texts:
            raise ValueError(f"load_state_dict: the state does not fit {type(self).__name__}:\n  " + "\n  ".join(texts))

    def _plan_load(self, plan, prefix):
        metadata = plan.metadata.get(prefix[:-1], {})
        for hook, _ in self._hooks_of("load_pre"):
            names = (plan.missing_keys, plan.unexpected_keys, plan.errors)
            args = (plan.state_dict, prefix, metadata, plan.strict, *names)
            hook(self, *args)
        self._upgrade_state(plan.state_dict, prefix, metadata.get("version"))
        for name, tensor in self._own_state():
            self._plan_tensor(plan, prefix + name, name, tensor)
        self._plan_extra_state(plan, prefix + EXTRA_STATE)
        for name, child in self._modules.items():
            if child is not None:
                child._plan_load(plan, f"{prefix}{name}.")
        plan.post_hooks.extend((self, hook) for hook, _ in self._hooks_of("load_post"))

    def _plan_tensor(self, plan, key, name, tensor):
        plan.add(key, self._parameters if name in self._parameters else self._buffers, name, tensor)

    def _plan_extra_state(self, plan, key):
        if type(self).set_extra_state is StateMixin.set_extra_state:
            return
        plan.wanted.add(key)
        if key in plan.state_dict:
            plan.commits.append(lambda: self.set_extra_state(plan.state_dict[key]))
        else:
            plan.missing_keys.append(key)

    def _upgrade_state(self, state_dict, prefix, version):
        """Rewrites entries that an older format of this module left in `state_dict`; overridden where there is one."""

    # ---- hooks

    def register_state_dict_pre_hook(self, hook):
        """Runs `hook(module, prefix, keep_vars)` before this module's tensors are saved."""
        return self._add_state_hook("save_pre", hook)

    def register_state_dict_post_hook(self, hook):
        """Runs `hook(module, state_dict, prefix, local_metadata)` after they are saved; it may edit state_dict."""
        return self._add_state_hook("save_post", hook)

    def register_load_state_dict_pre_hook(self, hook):
        """Runs `hook(module, state_dict, prefix, metadata, strict, missing, unexpected, errors)` before loading."""
        return self._add_state_hook("load_pre", hook)

    def register_load_state_dict_post_hook(self, hook):
        """Runs `hook(module, incompatible_keys)` after loading; clearing the lists forgives the names in them."""
        return self._add_state_hook("load_post", hook)

    def _hooks_of(self, kind):
        return () if self._state_hooks is None else list(self._state_hooks[kind].values())

    def _add_state_hook(self, kind, hook):
        if self._state_hooks is None:
            self._state_hooks = {name: HookDict() for name in ("save_pre", "save_post", "load_pre", "load_post")}
        return self._state_hooks[kind].add(hook)
