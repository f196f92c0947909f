"""Which functions are converted, and how: the user's own, each from its source, once."""

from __future__ import annotations

import ast
import builtins
import copy
import functools
import linecache
import os
import sysconfig
import types
import weakref
from collections.abc import Callable
from typing import Any

from thalweg._core import _native
from thalweg.jit.convert import staging
from thalweg.jit.convert.jumps import PREFIX
from thalweg.jit.convert.rewrite import needs_rewriting, rewrite

__all__ = ["converted"]

_OWN = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
_LIBRARIES = tuple(
    os.path.abspath(path) + os.sep
    for name in ("stdlib", "platstdlib", "purelib", "platlib")
    if (path := sysconfig.get_paths().get(name))
)
# Code of the user → what makes a function of it, given its closure; or None where it stays as it is.
_makers: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def converted(function: Any) -> Any:
    """The function with its control flow converted; itself where that is not the user's, or has no source."""
    if function is builtins.range:
        return staging.range_of
    if isinstance(function, types.MethodType):
        inner = converted(function.__func__)
        return function if inner is function.__func__ else types.MethodType(inner, function.__self__)
    if isinstance(function, _native.CallPath):  # made by tw.jit: in a trace it is a part of that
        return converted(function._function)
    if not isinstance(function, types.FunctionType):
        return function
    code = function.__code__
    if not _is_users(code.co_filename):
        return _unwrapped(function)
    if code not in _makers:
        _makers[code] = _maker(function)
    maker = _makers[code]
    return function if maker is None else maker(function)


def _is_users(file: str) -> bool:
    path = os.path.abspath(file)
    if path.startswith(_OWN) or f"{os.sep}site-packages{os.sep}" in path or f"{os.sep}dist-packages{os.sep}" in path:
        return False
    return not path.startswith(_LIBRARIES) and not file.startswith("<frozen")


def _unwrapped(function: types.FunctionType) -> types.FunctionType:
    """A decorator of a library around a function of the user: the same around the converted one."""
    inner = getattr(function, "__wrapped__", None)
    if not isinstance(inner, types.FunctionType) or not function.__closure__:
        return function
    new = converted(inner)
    if new is inner:
        return function
    cells = tuple(types.CellType(new) if _content(cell) is inner else cell for cell in function.__closure__)
    return _like(function, function.__code__, cells)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _like(function: types.FunctionType, code: types.CodeType, closure: tuple | None) -> types.FunctionType:
    result = types.FunctionType(code, function.__globals__, function.__name__, function.__defaults__, closure)
    result.__kwdefaults__ = function.__kwdefaults__
    functools.update_wrapper(result, function)
    del result.__dict__["__wrapped__"]
    return result


def _maker(function: types.FunctionType) -> Callable | None:
    code = function.__code__
    definition = _definition(code)
    if definition is None or not needs_rewriting(definition):
        return None
    parts = function.__qualname__.split(".")
    class_name = parts[-2] if len(parts) > 1 and parts[-2] != "<locals>" else None
    rewrite(definition, class_name)
    definition.name = f"{PREFIX}function"  # its own name must mean what it means outside, where it calls itself
    # A function around it has the closure's names, so that the code finds them where it did.
    names = [name for name in code.co_freevars if name.isidentifier()]
    lines = [f"def {PREFIX}around({PREFIX}):", *(f"    {name} = None" for name in names), "    pass"]
    module = ast.parse("\n".join(lines))
    module.body[0].body += [definition, *ast.parse(f"def _():\n    return {definition.name}").body[0].body]  # type: ignore[attr-defined]
    ast.fix_missing_locations(module)
    scope: dict[str, Any] = {}
    exec(compile(module, code.co_filename, "exec", dont_inherit=True, flags=code.co_flags & _FUTURE), scope)
    template = scope[f"{PREFIX}around"](staging_names)
    renamed = template.__code__.replace(co_name=code.co_name)

    def make(original: types.FunctionType) -> types.FunctionType:
        cells = dict(zip(original.__code__.co_freevars, original.__closure__ or ()))
        own = dict(zip(template.__code__.co_freevars, template.__closure__ or ()))
        closure = tuple(cells.get(name) or own[name] for name in template.__code__.co_freevars)
        return _like(original, renamed, closure or None)

    return make


_FUTURE = 0x1000000 | 0x800000 | 0x400000  # annotations, generator_stop: as the function was compiled


def _definition(code: types.CodeType) -> ast.FunctionDef | None:
    """The syntax tree of a function, with the lines of its file; without decorators, defaults and annotations."""
    tree = _tree_of(code.co_filename)
    if tree is None:
        return None
    found = [node for node in tree.get(code.co_firstlineno, ()) if _is_of(node, code)]
    if len(found) != 1:
        return None
    node = copy.deepcopy(found[0])
    if isinstance(node, ast.Lambda):
        returned = ast.copy_location(ast.Return(node.body), node.body)
        node = ast.copy_location(ast.FunctionDef(f"{PREFIX}lambda", node.args, [returned], []), node)
    node.decorator_list, node.returns = [], None
    node.args.defaults = [ast.copy_location(ast.Constant(None), d) for d in node.args.defaults]
    node.args.kw_defaults = [d and ast.copy_location(ast.Constant(None), d) for d in node.args.kw_defaults]
    for argument in ast.walk(node.args):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    return node


@functools.lru_cache(maxsize=64)
def _parsed(file: str, text: str) -> dict[int, list] | None:
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return None
    functions: dict[int, list] = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            decorators = getattr(node, "decorator_list", [])
            functions.setdefault(min([node.lineno, *(d.lineno for d in decorators)]), []).append(node)
    return functions


def _tree_of(file: str) -> dict[int, list] | None:
    """The functions of a file by the line where their code begins."""
    linecache.checkcache(file)
    lines = linecache.getlines(file)
    return _parsed(file, "".join(lines)) if lines else None


def _is_of(node: ast.FunctionDef | ast.Lambda, code: types.CodeType) -> bool:
    a = node.args
    names = [argument.arg for argument in (*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg) if argument]
    if (getattr(node, "name", "<lambda>"), *names) != (code.co_name, *code.co_varnames[: len(names)]):
        return False
    if isinstance(node, ast.FunctionDef):
        return True
    # Several lambdas may stand in a line.
    whole = ast.fix_missing_locations(ast.Expression(copy.deepcopy(node)))
    (compiled,) = [c for c in compile(whole, code.co_filename, "eval").co_consts if isinstance(c, types.CodeType)]
    return set(compiled.co_names) <= {*code.co_names, *code.co_freevars} and len(compiled.co_consts) == len(
        code.co_consts
    )


# What the name `tw_` stands for in converted functions.
staging_names = types.SimpleNamespace(call=converted, **{name: getattr(staging, name) for name in staging.__all__})
