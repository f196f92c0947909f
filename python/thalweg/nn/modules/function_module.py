"""The common form of modules that store their options and pass them to one function of nn.functional."""

from __future__ import annotations

import inspect

from thalweg.nn import functional as F
from thalweg.nn.module import Module

__all__ = ["FunctionModule"]

REQUIRED = inspect.Parameter.empty


class FunctionModule(Module):
    """A module whose constructor stores options and whose forward passes them to a function.

    A subclass states both in its header: `class ELU(FunctionModule, function="elu", alpha=1.0, inplace=False)`. The
    options become the constructor's parameters, in that order; REQUIRED marks one without a default. An option named in
    `_not_passed` is stored but not passed; one named in `_keyword_only` is keyword-only.
    """

    _function: str
    _not_passed: tuple[str, ...] = ()
    _keyword_only: tuple[str, ...] = ()

    def __init_subclass__(cls, function=None, **options):
        super().__init_subclass__()
        if function is None:
            return  # a base of a family, or a subclass that keeps its parent's options
        kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        cls._function = function
        cls.__signature__ = inspect.Signature(
            [inspect.Parameter(n, kinds[n in cls._keyword_only], default=d) for n, d in options.items()]
        )
        cls._passed = tuple(name for name in options if name not in cls._not_passed)

    def __init__(self, *args, **kwargs):
        super().__init__()
        try:
            bound = type(self).__signature__.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{type(self).__name__}: {error}") from None
        bound.apply_defaults()
        for name, value in self._prepare(dict(bound.arguments)).items():
            setattr(self, name, value)

    def _prepare(self, options):
        """Checks or completes the options before they are stored; a family overrides it."""
        return options

    def forward(self, *inputs, **named_inputs):
        options = {name: getattr(self, name) for name in self._passed}
        return getattr(F, self._function)(*inputs, **named_inputs, **options)

    def extra_repr(self):
        """The options, in the constructor's order."""
        return ", ".join(f"{name}={getattr(self, name)!r}" for name in type(self).__signature__.parameters)
