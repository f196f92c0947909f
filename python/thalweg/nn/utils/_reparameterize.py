"""Finding the forward pre-hooks that compute a parameter out of others."""

from __future__ import annotations


def find_hook(module, kind, name):
    """The id of the hook of class `kind` for the parameter `name`, or None."""
    hooks = {} if module._call_hooks is None else module._call_hooks.forward_pre
    return next((key for key, (hook, _) in hooks.items() if isinstance(hook, kind) and hook.name == name), None)


def remove_hook(module, kind, name, function):
    """Detaches and returns that hook. Errors: ValueError, which names `function`, when there is none."""
    key = find_hook(module, kind, name)
    if key is None:
        raise ValueError(f"{function}: {name!r} of {type(module).__name__} is a plain parameter")
    return module._call_hooks.forward_pre.pop(key)[0]
