"""What a program has read of a module, and whether that still stands."""

from __future__ import annotations

import weakref
from typing import Any

from thalweg._core._tensor import Tensor

__all__ = ["ModuleGuard"]

_MEMBERS = ("_parameters", "_buffers", "_modules")
_SIMPLE = (bool, int, float, str, type(None), tuple)


class ModuleGuard:
    """The simple attributes and the members of a module, as they were.

    `Module.__setattr__` and its kin advance a counter, so that programs look here only after a change.
    """

    def __init__(self, module: Any, name: str, skip: list | tuple = ()) -> None:
        self._reference = weakref.ref(module)
        self.name = name
        attributes = module.__dict__
        self._skip = set(skip)
        self._simple = {
            key: value for key, value in attributes.items() if type(value) in _SIMPLE and key not in self._skip
        }
        self._tensors = {
            key: weakref.ref(value) for key, value in attributes.items() if isinstance(value, Tensor)
        }  # that are neither parameters nor buffers
        self._hooks = attributes.get("_call_hooks")
        # Weak, so that a program does not keep modules; tensors are its variables, and stay.
        self._members = {
            kind: {key: None if value is None else weakref.ref(value) for key, value in attributes[kind].items()}
            for kind in _MEMBERS
        }

    @property
    def module(self) -> Any:
        """The module, or None where it is gone."""
        return self._reference()

    def change(self) -> tuple[str, Any, Any, Any] | None:
        """What has changed: (description, container, key, value now); None where nothing has."""
        module = self._reference()
        if module is None:
            return f"{self.name} is gone", None, None, None
        attributes = module.__dict__
        for key, value in self._simple.items():
            now = attributes.get(key, self)
            if now is not value and not (type(now) is type(value) and now == value):
                text = (
                    f"{key} of a {type(module).__name__} was {value!r}, and is {'gone' if now is self else repr(now)}"
                )
                return text, attributes, key, now
        for key, value in self._tensors.items():
            if attributes.get(key) is not value():
                return f"{key} of a {type(module).__name__} is another tensor than before", None, None, None
        for kind, members in self._members.items():
            now = attributes[kind]
            same = len(now) == len(members) and all(
                key in now and now[key] is (None if value is None else value()) for key, value in members.items()
            )
            if not same:
                what = kind[1:]
                return f"a {type(module).__name__} has other {what} than before", None, None, None
        if attributes.get("_call_hooks") is not self._hooks:
            return f"a {type(module).__name__} has got hooks", None, None, None
        return None

    def restore(self) -> None:
        """Puts simple attributes and members back."""
        module = self._reference()
        if module is None:
            return
        module.__dict__.update(self._simple)
        module.__dict__.update({key: value() for key, value in self._tensors.items() if value() is not None})
        for kind, members in self._members.items():
            now = module.__dict__[kind]
            for key in [key for key in now if key not in members]:
                del now[key]
            for key, value in members.items():
                if value is None or value() is not None:
                    now[key] = None if value is None else value()
