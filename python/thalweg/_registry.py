"""Where the registered ops and the composites written in Python meet the names that users know.

A composite is a plain function; the decorators here say where it appears, as `expose` does for an op in C++.
"""

from collections.abc import Callable
from typing import TypeVar

from thalweg._core import _native
from thalweg._core._tensor import attach, op

__all__ = ["FUNCTIONS", "LINALG", "NN_FUNCTIONS", "SPECIAL", "export", "ops"]

F = TypeVar("F", bound=Callable)

FUNCTIONS: dict[str, Callable] = {}
NN_FUNCTIONS: dict[str, Callable] = {}
LINALG: dict[str, Callable] = {}
SPECIAL: dict[str, Callable] = {}


class _Ops:
    """Every registered op as an attribute, the hidden ones too: ops.gelu_backward(g, x)."""

    def __getattr__(self, name: str) -> Callable:
        try:
            found = op(name)
        except ValueError:
            raise AttributeError(f"there is no op named {name}") from None
        setattr(self, name, found)
        return found


ops = _Ops()


def export(
    *,
    function: bool = False,
    method: bool = False,
    nn: bool = False,
    name: str | None = None,
    linalg: bool = False,
    special: bool = False,
) -> Callable[[F], F]:
    """Decorates a composite: as tw.name, Tensor.name, tw.nn.functional.name, tw.linalg.name or tw.special.name."""

    def decorate(composite: F) -> F:
        public = name or composite.__name__
        for wanted, table in ((function, FUNCTIONS), (nn, NN_FUNCTIONS), (linalg, LINALG), (special, SPECIAL)):
            if wanted:
                if public in table:
                    raise RuntimeError(f"{public} is exported twice")
                table[public] = composite
        if method:
            attach(public, composite)
        return composite

    return decorate


def _attach_registered() -> None:
    for info in _native.registry():
        name, where = info["name"], info["exposed"]
        forms = [(name, op(name))]
        if "inplace" in where:
            forms.append((name + "_", op(name, True)))
        for public, form in forms:
            if "function" in where:
                FUNCTIONS[public] = form
            if "method" in where:
                attach(public, form)
            if "nn.functional" in where:
                NN_FUNCTIONS[public] = form
        if "inplace" in where and "method" not in where:
            attach(name + "_", op(name, True))
        if "linalg" in where:
            LINALG[name.removeprefix("linalg_")] = op(name)
        if "special" in where:
            SPECIAL[name.removeprefix("special_")] = op(name)


_attach_registered()
