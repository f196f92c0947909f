"""Walking a module's parameters, buffers and submodules."""

from __future__ import annotations

__all__ = ["TreeMixin"]


class TreeMixin:
    """The part of Module that walks what is registered in it."""

    def named_modules(self, memo=None, prefix="", remove_duplicate=True):
        """Yields (dotted name, module) for this module, named `prefix`, and all below it, parents first."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, child in self._modules.items():
            if child is not None:
                yield from child.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self):
        """Yields this module and all below it, each once."""
        for _, module in self.named_modules():
            yield module

    def named_children(self):
        """Yields (name, module) for the direct submodules, each once."""
        seen = set()
        for name, child in self._modules.items():
            if child is not None and child not in seen:
                seen.add(child)
                yield name, child

    def children(self):
        """Yields the direct submodules, each once."""
        for _, child in self.named_children():
            yield child

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        """Yields (dotted name, parameter); a parameter that is used twice comes once, under its first name.

        >>> import thalweg as tw
        >>> [name for name, _ in tw.nn.Sequential(tw.nn.Linear(1, 1)).named_parameters()]
        ['0.weight', '0.bias']
        """
        return self._named_members("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse=True):
        """Yields every parameter once; with recurse=False only this module's own."""
        for _, param in self.named_parameters(recurse=recurse):
            yield param

    def named_buffers(self, prefix="", recurse=True, remove_duplicate=True):
        """Yields (dotted name, buffer), each buffer once."""
        return self._named_members("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse=True):
        """Yields every buffer once; with recurse=False only this module's own."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def _named_members(self, kind, prefix, recurse, remove_duplicate):
        seen = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for module_name, module in modules:
            for name, tensor in getattr(module, kind).items():
                if tensor is None or id(tensor) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(tensor))
                yield (f"{module_name}.{name}" if module_name else name), tensor

    def apply(self, fn):
        """Calls `fn(module)` on every module below this one, children first, and on this one; returns it."""
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    def get_submodule(self, target):
        """The module with the dotted name `target`; the empty name is this one. Errors: AttributeError."""
        module = self
        for name in target.split(".") if target else ():
            child = getattr(module, name, None)
            if child is None:
                raise AttributeError(f"get_submodule: {module._get_name()} has no attribute {name!r}, from {target!r}")
            if not isinstance(child, TreeMixin):
                raise AttributeError(f"get_submodule: {name!r}, from {target!r}, is not a Module")
            module = child
        return module

    def set_submodule(self, target, module, strict=False):
        """Puts `module` at the dotted name `target`; with strict only where a module already is."""
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and name not in parent._modules:
            raise AttributeError(f"set_submodule: {parent._get_name()} has no module {name!r}, from {target!r}")
        parent.register_module(name, module)

    def get_parameter(self, target):
        """The parameter with the dotted name `target`. Errors: AttributeError."""
        return self._get_member("_parameters", target, "Parameter")

    def get_buffer(self, target):
        """The buffer with the dotted name `target`. Errors: AttributeError."""
        return self._get_member("_buffers", target, "buffer")

    def _get_member(self, kind, target, what):
        path, _, name = target.rpartition(".")
        members = getattr(self.get_submodule(path), kind)
        if name not in members:
            raise AttributeError(f"get_{what.lower()}: {target!r} is not a {what}")
        return members[name]
