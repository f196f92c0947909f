"""Rewrites a function so that its control flow asks at run time whether a tensor decides.

    if c:                  def tw_then_1():
        y = f(x)               nonlocal y
    else:                      y = tw_.call(f)(x)
        y = x              def tw_else_1():
                               nonlocal y
                               y = x
                           tw_.if_(c, tw_then_1, tw_else_1, tw_get_1, tw_set_1, ("y",), tw_seen_1)

`tw_get_1` and `tw_set_1` read and write the names that the statement assigns, `tw_seen_1` reads all that it looks at.
Expressions (`a if c else b`, `and`, `or`, `not`, `a < b < c`) and calls are rewritten, too.
"""

from __future__ import annotations

import ast

from thalweg.jit.convert.jumps import PREFIX, blocks_of, find, lower_jumps, parse

__all__ = ["needs_rewriting", "rewrite"]

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_FLOW = (ast.If, ast.While, ast.For, ast.IfExp, ast.BoolOp, ast.Call)
_KEPT_CALLS = {"super", "isinstance", "type", "locals", "globals", "vars", "len", "getattr", "hasattr"}
_HERE_ONLY = (ast.Yield, ast.YieldFrom, ast.Await, ast.NamedExpr)


_GLOBAL = "it decides on what a `global` name is: return the value instead"


def needs_rewriting(function: ast.FunctionDef) -> bool:
    return find(function.body, _FLOW) and not find(function.body, (ast.Yield, ast.YieldFrom, ast.Await))


def rewrite(function: ast.FunctionDef, class_name: str | None) -> None:
    """Rewrites the function's body in place; `class_name` is that of the class it was defined in."""
    declared: dict[type, set[str]] = {ast.Global: set(), ast.Nonlocal: set()}
    for node in ast.walk(function):
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            declared[type(node)].update(node.names)
    if class_name:
        _Private(class_name).visit(function)
    lower_jumps(function)
    _Statements(declared[ast.Global], declared[ast.Nonlocal], _arguments(function)).function(function)
    ast.fix_missing_locations(function)


def _arguments(function: ast.FunctionDef) -> set[str]:
    a = function.args
    named = [*a.posonlyargs, *a.args, *a.kwonlyargs, *([a.vararg] if a.vararg else []), *([a.kwarg] if a.kwarg else [])]
    return {argument.arg for argument in named}


class _Private(ast.NodeTransformer):
    """Names such as self.__x, as a class spells them."""

    def __init__(self, class_name: str) -> None:
        self._prefix = "_" + class_name.lstrip("_")

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if node.attr.startswith("__") and not node.attr.endswith("__"):
            node.attr = self._prefix + node.attr
        return node


def _assigned(nodes: list) -> tuple[list[str], list[str]]:
    """Names that statements assign, and dotted ones such as self.h, in order."""
    names: dict[str, None] = {}
    dotted: dict[str, None] = {}

    def visit(node: ast.AST) -> None:
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda)):
            return
        if isinstance(node, _SCOPES):
            names[node.name] = None  # type: ignore[union-attr]
            return
        if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
            names[node.id] = None
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name):
            dotted[f"{node.value.id}.{node.attr}"] = None
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            names[node.name] = None
        elif isinstance(node, ast.MatchMapping) and node.rest:
            names[node.rest] = None
        elif isinstance(node, ast.alias):
            names[(node.asname or node.name).split(".")[0]] = None
        for child in ast.iter_child_nodes(node):
            visit(child)

    for node in nodes:
        visit(node)
    return list(names), list(dotted)


def _only_augmented(nodes: list) -> set[str]:
    """Names, dotted ones too, that statements change by `x += ...` and its like only."""
    augmented: set[str] = set()
    assigned: set[str] = set()
    for node in nodes:
        inner = {id(part.target) for part in ast.walk(node) if isinstance(part, ast.AugAssign)}
        for part in ast.walk(node):
            if isinstance(part, (ast.Name, ast.Attribute)) and not isinstance(part.ctx, ast.Load):
                (augmented if id(part) in inner else assigned).add(ast.unparse(part))
    return augmented - assigned


def _read(nodes: list) -> list[str]:
    """Names that are looked at, in order."""
    names = {n.id: None for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name)}
    return [name for name in names if not name.startswith(PREFIX)]


class _Statements:
    def __init__(self, global_names: set[str], nonlocal_names: set[str], arguments: set[str]) -> None:
        self._global = global_names
        self._nonlocals = nonlocal_names
        self._arguments = arguments
        self._count = 0
        self._expressions = _Expressions()

    def function(self, function: ast.FunctionDef) -> None:
        names, _ = _assigned(function.body)
        # What functions that are defined here assign around them, by name.
        self._written_by = {
            inner.name: [name for part in ast.walk(inner) if isinstance(part, ast.Nonlocal) for name in part.names]
            for inner in ast.walk(function)
            if isinstance(inner, ast.FunctionDef) and inner is not function
        }
        self._locals = (set(names) | self._arguments) - self._global
        at = function.body[0]
        body = self.block(function.body)
        local = sorted(self._locals - self._arguments - self._nonlocals)
        head = parse(f"if False:\n    {' = '.join(local)} = None", at) if local else []
        function.body = head + body

    def block(self, block: list) -> list:
        return [new for statement in block for new in self.statement(statement)]

    def statement(self, statement: ast.stmt) -> list:
        if isinstance(statement, ast.FunctionDef) and statement.name.startswith(PREFIX):  # of lower_jumps
            names, _ = self._names(statement.body)
            statement.body = self._nonlocal(names, statement) + self.block(statement.body)
            return [statement]
        if isinstance(statement, _SCOPES):
            return [statement]
        if isinstance(statement, ast.If):
            return self._if(statement)
        if isinstance(statement, ast.While):
            return self._while(statement)
        if isinstance(statement, ast.For):
            return self._for(statement)
        for owner, field in blocks_of(statement):
            setattr(owner, field, self.block(getattr(owner, field)))
        return [self._expressions.in_statement(statement)]

    def _names(self, block: list) -> tuple[list[str], list[str]]:
        """Local names that a block assigns, and what else it may find changed: names with dots."""
        names, dotted = _assigned(block)
        for name in _read(block):
            names += [written for written in self._written_by.get(name, ()) if written not in names]
        return [name for name in names if name in self._locals], dotted

    def _nonlocal(self, names: list[str], at: ast.AST) -> list:
        return parse(f"nonlocal {', '.join(names)}", at) if names else []

    def _body_function(self, name: str, block: list, at: ast.stmt, argument: str = "") -> ast.stmt:
        (function,) = parse(f"def {name}({argument}):\n    pass", at)
        names, _ = self._names(block)
        function.body = self._nonlocal(names, at) + (self.block(block) or [ast.copy_location(ast.Pass(), at)])
        return function

    def _state(self, number: int, blocks: list, at: ast.stmt) -> tuple[list, str]:
        """Functions that read and write what blocks assign; and their names, as arguments."""
        names, dotted = self._names(blocks)
        seen = [name for name in _read(blocks) if name not in names]
        places = [*names, *dotted]
        p = PREFIX
        get = "".join(f"{p}.load(lambda: {place}, {place!r}), " for place in places)
        look = "".join(f"{p}.load(lambda: {name}, {name!r}), " for name in [*seen, *names])
        lines = [f"def {p}set_{number}({p}values):"]
        lines += [f"    nonlocal {', '.join(names)}"] if names else []
        lines += [f"    {name} = {p}values[{i}]" for i, name in enumerate(names)]
        for i, place in enumerate(dotted, len(names)):
            owner, attribute = place.split(".")
            lines.append(f"    {p}.store({owner}, {attribute!r}, {p}values[{i}])")
        text = "\n".join([*lines, "    pass"])
        arguments = f"lambda: ({get}), {p}set_{number}, {self._shown(places, blocks)!r}, lambda: ({look})"
        return parse(text, at), arguments

    def _shown(self, places: list[str], blocks: list) -> tuple[str, ...]:
        """The names for messages; those that are only added to, and so on, end in `+=`."""
        augmented = _only_augmented(blocks)
        return tuple(f"{place}+=" if place in augmented else place for place in places)

    def _next(self) -> int:
        self._count += 1
        return self._count

    def _test(self, test: ast.expr) -> ast.expr:
        return self._expressions.visit(test)

    def _call(self, text: str, at: ast.stmt, **parts: ast.expr) -> ast.stmt:
        """A statement from text, with expressions in the place of names."""
        (statement,) = parse(text, at)
        return _Fill(parts).visit(statement)

    def _if(self, node: ast.If) -> list:
        k, p = self._next(), PREFIX
        returns = find(node.body + node.orelse, (ast.Return,))
        if returns and not _closes(node):
            return [
                self._plain(
                    node,
                    "it decides on a `return` inside of `with` or `try`: assign the result there, and return it behind",
                )
            ]
        if self._assigns_global(node.body + node.orelse):
            return [self._plain(node, _GLOBAL)]
        state, arguments = self._state(k, node.body + node.orelse, node)
        then = self._body_function(f"{p}then_{k}", node.body, node)
        other = self._body_function(f"{p}else_{k}", node.orelse, node)
        kind, word = ("if_return", "return ") if returns else ("if_", "")
        text = f"{word}{p}.{kind}({p}test, {p}then_{k}, {p}else_{k}, {arguments})"
        return [then, other, *state, self._call(text, node, tw_test=self._test(node.test))]

    def _assigns_global(self, block: list) -> bool:
        return bool(self._global & set(_assigned(block)[0]))

    def _plain(self, node: ast.If | ast.While, reason: str) -> ast.stmt:
        """A statement that has to be Python's."""
        node.body, node.orelse = self.block(node.body), self.block(node.orelse)
        (call,) = parse(f"{PREFIX}.plain(tw_test, {reason!r})", node)
        node.test = _Fill({"tw_test": self._test(node.test)}).visit(call.value)
        return node

    def _while(self, node: ast.While) -> list:
        if self._assigns_global(node.body):
            return [self._plain(node, _GLOBAL)]
        k, p = self._next(), PREFIX
        state, arguments = self._state(k, [*node.body, ast.Expr(node.test)], node)
        broken = getattr(node, "broken", None)
        test = self._test(node.test)
        (test_function,) = parse(f"def {p}test_{k}():\n    return {p}test", node)
        if broken:
            (test_function,) = parse(
                f"def {p}test_{k}():\n    return {p}.and_(lambda: {p}.not_({broken}), lambda: {p}test)", node
            )
        test_function = _Fill({f"{p}test": test}).visit(test_function)
        body = self._body_function(f"{p}body_{k}", node.body, node)
        return [test_function, body, *state, *parse(f"{p}.while_({p}test_{k}, {p}body_{k}, {arguments})", node)]

    def _for(self, node: ast.For) -> list:
        k, p = self._next(), PREFIX
        item = f"{p}item_{k}"
        (target,) = parse(f"{p}target = {item}", node)
        target.targets = [node.target]
        block = [target, *node.body]
        state, arguments = self._state(k, block, node)
        body = self._body_function(f"{p}body_{k}", block, node, item)
        broken = getattr(node, "broken", None)
        stop = f"lambda: {broken}" if broken else "None"
        text = f"{p}.for_({p}iterable, {p}body_{k}, {arguments}, {stop})"
        return [body, *state, self._call(text, node, tw_iterable=self._test(node.iter))]


def _closes(node: ast.If) -> bool:
    """Whether both branches end in a return, as lower_jumps leaves them at the level of the function."""

    def ends(block: list) -> bool:
        return bool(block) and (
            isinstance(block[-1], (ast.Return, ast.Raise)) or (isinstance(block[-1], ast.If) and _closes(block[-1]))
        )

    return ends(node.body) and ends(node.orelse)


class _Fill(ast.NodeTransformer):
    def __init__(self, parts: dict[str, ast.expr]) -> None:
        self._parts = parts

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self._parts.get(node.id, node)


class _Expressions(ast.NodeTransformer):
    """Rewrites expressions."""

    def in_statement(self, statement: ast.stmt) -> ast.stmt:
        for field, value in ast.iter_fields(statement):
            if field in ("body", "orelse", "finalbody", "handlers", "cases"):
                continue
            if isinstance(value, ast.AST):
                setattr(statement, field, self.visit(value))
            elif isinstance(value, list):
                setattr(statement, field, [self.visit(v) if isinstance(v, ast.AST) else v for v in value])
        return statement

    def _make(self, text: str, at: ast.AST, **parts: ast.expr) -> ast.AST:
        (statement,) = parse(text, at)
        return _Fill(parts).visit(statement.value)

    def _stays(self, node: ast.AST) -> bool:
        return any(isinstance(part, _HERE_ONLY) for part in ast.walk(node))

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        if self._stays(node):
            return self.generic_visit(node)
        self.generic_visit(node)
        text = f"{PREFIX}.choose(tw_a, lambda: tw_b, lambda: tw_c)"
        return self._make(text, node, tw_a=node.test, tw_b=node.body, tw_c=node.orelse)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        if self._stays(node):
            return self.generic_visit(node)
        self.generic_visit(node)
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        result = node.values[-1]
        for value in reversed(node.values[:-1]):
            text = f"{PREFIX}.{name}(lambda: tw_a, lambda: tw_b)"
            result = self._make(text, node, tw_a=value, tw_b=result)  # type: ignore[assignment]
        return result

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.op, ast.Not):
            return node
        return self._make(f"{PREFIX}.not_(tw_a)", node, tw_a=node.operand)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        if len(node.ops) == 1 or self._stays(node):
            return self.generic_visit(node)
        self.generic_visit(node)
        # compare(a, op, lambda: b, op, lambda: c)
        call = self._make(f"{PREFIX}.compare(tw_a)", node, tw_a=node.left)
        for op, operand in zip(node.ops, node.comparators):
            call.args.append(ast.copy_location(ast.Constant(type(op).__name__), node))  # type: ignore[attr-defined]
            call.args.append(self._make("lambda: tw_a", node, tw_a=operand))  # type: ignore[attr-defined]
        return call

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and (node.func.id in _KEPT_CALLS or node.func.id.startswith(PREFIX)):
            return node
        if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
            if node.func.value.id == PREFIX:
                return node
        node.func = self._make(f"{PREFIX}.call(tw_a)", node, tw_a=node.func)  # type: ignore[assignment]
        return node
