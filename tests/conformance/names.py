"""How an entry of torch's operator database becomes a thalweg callable.

A torch function is found by identity and looked up under the same path in thalweg (`torch.nn.functional.gelu` ->
`tw.nn.functional.gelu`, `torch.Tensor.add_` -> `tw.Tensor.add_`). An entry whose callable is a small wrapper written in
the database is run with its globals and closure pointed at thalweg.
"""

import functools
import types

import thalweg as tw
import torch

_SPACES = ("", "nn.functional", "linalg", "special", "fft", "signal.windows", "masked", "Tensor") + (
    "nn",
    "optim",
    "optim.lr_scheduler",
)
# Private torch functions behind a public name.
_PUBLIC = {"nn.functional._threshold": "nn.functional.threshold"}


class Missing(Exception):
    """thalweg does not offer a name that the call needs."""


def follow(root, path):
    for part in path.split("."):
        root = getattr(root, part)
    return root


@functools.cache
def _paths():
    table = {}
    for space in _SPACES:
        holder = follow(torch, space) if space else torch
        for name in dir(holder):
            try:
                value = getattr(holder, name)
            except (AttributeError, RuntimeError):
                continue
            if callable(value) and not isinstance(value, types.ModuleType):
                table.setdefault(id(value), f"{space}.{name}".strip("."))
    return table


def _lookup(path):
    try:
        return follow(tw, path)
    except AttributeError:
        raise Missing(f"tw.{path}") from None


class _Space:
    """A thalweg module under a torch name; a name it lacks is Missing, not an AttributeError."""

    def __init__(self, module, path):
        self._module, self._path = module, path

    def __getattr__(self, name):
        try:
            value = getattr(self._module, name)
        except AttributeError:
            raise Missing(f"{self._path}.{name}") from None
        return _Space(value, f"{self._path}.{name}") if isinstance(value, types.ModuleType) else value


def _space(module):
    path = module.__name__.partition("torch")[2].strip(".")
    return _Space(_lookup(path) if path else tw, f"tw.{path}".strip("."))


def _seeded(op, *args, **kwargs):
    """The database's wrapper_set_seed for thalweg's generator."""
    tw.manual_seed(42)
    return op(*args, **kwargs)


def _translate(value):
    if isinstance(value, types.ModuleType) and value.__name__.split(".")[0] == "torch":
        return _space(value)
    if isinstance(value, (torch.dtype, torch.memory_format)):
        return getattr(tw, str(value).rsplit(".", 1)[-1])
    if value is torch.Tensor:
        return tw.Tensor
    if callable(value) and (id(value) in _paths() or isinstance(value, (types.FunctionType, functools.partial))):
        return retarget(value)
    return value


def _rewrite(fn):
    """A function of the database with every torch object it names replaced by thalweg's."""
    if fn.__name__ == "wrapper_set_seed":
        return _seeded
    names = set(fn.__code__.co_names)
    for const in fn.__code__.co_consts:
        if isinstance(const, types.CodeType):
            names |= set(const.co_names)
    scope = dict(fn.__globals__)
    scope.update({n: _translate(scope[n]) for n in names if n in scope})
    closure = fn.__closure__ and tuple(types.CellType(_translate(c.cell_contents)) for c in fn.__closure__)
    copy = types.FunctionType(fn.__code__, scope, fn.__name__, fn.__defaults__, closure)
    copy.__kwdefaults__ = fn.__kwdefaults__
    return copy


def retarget(fn):
    """The thalweg counterpart of a torch callable; raises Missing."""
    path = _paths().get(id(fn))
    if path is not None:
        return _lookup(_PUBLIC.get(path, path))
    if isinstance(fn, functools.partial):
        return functools.partial(retarget(fn.func), *fn.args, **fn.keywords)
    if isinstance(fn, types.FunctionType):
        return _rewrite(fn)
    if getattr(fn, "__module__", None) in ("_operator", "builtins", "math", "operator"):
        return fn
    raise Missing(f"no public name for {fn!r}")


def function_of(op):
    """The function variant of a database entry in thalweg."""
    try:
        same = follow(torch, op.name) is op.op
    except AttributeError:
        same = False
    return _lookup(op.name) if same else retarget(op.op)


def full_name(op):
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


def is_missing(error):
    """Whether an exception says that thalweg lacks a name (rather than that it failed)."""
    if isinstance(error, Missing):
        return True
    if not isinstance(error, AttributeError):
        return False
    text = str(error)
    return "has no attribute" in text and ("Tensor" in text or "thalweg" in text)
