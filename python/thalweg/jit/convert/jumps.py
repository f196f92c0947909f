"""Takes `break`, `continue` and early `return` out of a function's syntax tree.

    for x in xs:                        tw_broken_1 = False
        if x > 3:                       for x in xs:          (which stops where tw_broken_1)
            break                           if x > 3:
        total += x                              tw_broken_1 = True
                                            if not tw_broken_1:
                                                total += x

A `return` in a loop is a `break` that leaves its value in a name; one in an `if` takes what follows the `if` into the
branches, so that both end in a `return`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

__all__ = ["PREFIX", "blocks_of", "find", "lower_jumps", "parse"]

PREFIX = "tw_"
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def find(nodes: list, kinds: tuple, inside_loops: bool = True) -> bool:
    """Whether a node of these kinds stands in statements; not in functions and classes that they define."""
    for node in nodes:
        if isinstance(node, kinds):
            return True
        if isinstance(node, _SCOPES) or (not inside_loops and isinstance(node, (ast.While, ast.For))):
            continue
        if find(list(ast.iter_child_nodes(node)), kinds, inside_loops):
            return True
    return False


def blocks_of(statement: ast.AST) -> list[tuple[ast.AST, str]]:
    """Where the blocks inside a statement stand, as (owner, field)."""
    owners = [statement, *getattr(statement, "handlers", []), *getattr(statement, "cases", [])]
    fields = ("body", "orelse", "finalbody")
    return [(owner, field) for owner in owners for field in fields if isinstance(getattr(owner, field, None), list)]


def parse(text: str, at: ast.AST) -> list:
    """Statements from text, in the first line of a node."""
    nodes = ast.parse(text).body
    for node in nodes:
        for part in ast.walk(node):
            if hasattr(part, "lineno"):
                part.lineno = part.end_lineno = at.lineno  # type: ignore[attr-defined]
                part.col_offset = part.end_col_offset = at.col_offset  # type: ignore[attr-defined]
    return nodes


def lower_jumps(function: ast.FunctionDef) -> None:
    """Rewrites the function's body."""
    jumps = _Jumps()
    body = jumps.in_block(function.body)
    if find([s for s in body if isinstance(s, ast.If)], (ast.Return,)):
        body = jumps.closed(body)
    function.body = body


class _Jumps:
    def __init__(self) -> None:
        self._count = 0

    def in_block(self, block: list) -> list:
        """Loops in a block lose their jumps."""
        result: list = []
        for statement in block:
            if isinstance(statement, _SCOPES):
                result.append(statement)
                continue
            for owner, field in blocks_of(statement):
                setattr(owner, field, self.in_block(getattr(owner, field)))
            result += self._loop(statement) if isinstance(statement, (ast.While, ast.For)) else [statement]
        return result

    def _loop(self, loop: ast.While | ast.For) -> list:
        self._count += 1
        number, before, after = self._count, [], []
        if find(loop.body, (ast.Return,)):
            before += parse(f"{PREFIX}returned_{number} = False\n{PREFIX}result_{number} = {PREFIX}.Nothing", loop)
            after += parse(f"if {PREFIX}returned_{number}:\n    return {PREFIX}result_{number}", loop)
            loop.body = _replaced(
                loop.body,
                lambda s: isinstance(s, ast.Return),
                lambda s: [
                    *parse(f"{PREFIX}returned_{number} = True", s),
                    ast.copy_location(
                        ast.Assign(
                            [ast.copy_location(ast.Name(f"{PREFIX}result_{number}", ast.Store()), s)],
                            s.value or ast.copy_location(ast.Constant(None), s),
                        ),
                        s,
                    ),
                    ast.copy_location(ast.Break(), s),
                ],
            )
        flags = []
        if _has_jump(loop.body, ast.Continue):
            flags.append(f"{PREFIX}continued_{number}")
        if _has_jump(loop.body, ast.Break):
            loop.broken = f"{PREFIX}broken_{number}"  # type: ignore[union-attr]
            flags.append(loop.broken)  # type: ignore[union-attr]
            before += parse(f"{loop.broken} = False", loop)  # type: ignore[union-attr]
        if flags:
            loop.body = _guarded(loop.body, number, flags)
            if flags[0].startswith(f"{PREFIX}continued"):
                loop.body = parse(f"{flags[0]} = False", loop) + loop.body
        if loop.orelse and hasattr(loop, "broken"):
            after = [_when_not([loop.broken], loop.orelse, loop), *after]
        else:
            after = loop.orelse + after
        loop.orelse = []
        return [*before, loop, *after]

    def closed(self, block: list) -> list:
        """Every path through a block ends in a return."""
        for i, statement in enumerate(block):
            if isinstance(statement, ast.Return):
                return block[: i + 1]
            if not isinstance(statement, ast.If) or not find([statement], (ast.Return,)):
                continue
            rest, head = block[i + 1 :], block[:i]
            if rest and not _ends(statement.body) and not _ends(statement.orelse):
                self._count += 1
                name = f"{PREFIX}rest_{self._count}"
                head = [*head, *parse(f"def {name}():\n    pass", statement)]
                head[-1].body = self.closed(rest)
                rest = parse(f"return {name}()", statement)
            statement.body = self.closed(statement.body + rest)
            statement.orelse = self.closed(statement.orelse + rest)
            return [*head, statement]
        at = block[-1] if block else ast.Pass(lineno=1, col_offset=0, end_lineno=1, end_col_offset=0)
        return block + parse("return None", at)


def _ends(block: list) -> bool:
    """Whether every path returns or raises."""
    if not block:
        return False
    last = block[-1]
    return isinstance(last, (ast.Return, ast.Raise)) or (
        isinstance(last, ast.If) and _ends(last.body) and _ends(last.orelse)
    )


def _has_jump(block: list, kind: type) -> bool:
    """Whether a jump of this loop stands in its body."""
    return find([s for s in block if not isinstance(s, (ast.While, ast.For))], (kind,), inside_loops=False)


def _replaced(block: list, wanted: Callable, by: Callable) -> list:
    """A block with statements replaced, also in those of loops; what follows in the block is never reached."""
    result: list = []
    for statement in block:
        if wanted(statement):
            return result + by(statement)
        if not isinstance(statement, _SCOPES):
            for owner, field in blocks_of(statement):
                setattr(owner, field, _replaced(getattr(owner, field), wanted, by))
        result.append(statement)
    return result


def _when_not(flags: list[str], block: list, at: ast.AST) -> ast.stmt:
    (guard,) = parse(f"if not ({' or '.join(flags)}):\n    pass", at)
    guard.body = block
    return guard


def _guarded(block: list, number: int, flags: list[str]) -> list:
    """Jumps become flags, and what follows them depends on these."""
    result: list = []
    for i, statement in enumerate(block):
        if isinstance(statement, (ast.Break, ast.Continue)):
            kind = "broken" if isinstance(statement, ast.Break) else "continued"
            return result + parse(f"{PREFIX}{kind}_{number} = True", statement)
        result.append(statement)
        if isinstance(statement, (*_SCOPES, ast.While, ast.For)):
            continue
        if not find([statement], (ast.Break, ast.Continue), inside_loops=False):
            continue
        for owner, field in blocks_of(statement):
            setattr(owner, field, _guarded(getattr(owner, field), number, flags))
        rest = _guarded(block[i + 1 :], number, flags)
        return result + ([_when_not(flags, rest, statement)] if rest else [])
    return result
