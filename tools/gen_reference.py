"""Writes docs/reference/ops.md: every op that Python sees, by family, with its schema, doc and properties.

With `--check` nothing is written; exits 1 when the page is not what the registry gives.
"""

import sys
from itertools import groupby
from pathlib import Path

from op_registry import Op, load

PAGE = Path("docs/reference/ops.md")
HEAD = "# Operators\n\nWritten by `tools/gen_reference.py` from the op registry; edit the definitions in `cpp/ops`.\n"
SEEN_AS = {
    "function": "`tw.{name}`",
    "method": "`Tensor.{name}`",
    "inplace": "`Tensor.{name}_`",
    "nn.functional": "`tw.nn.functional.{name}`",
    "linalg": "`tw.linalg.{short}`",
    "special": "`tw.special.{short}`",
}


def gradient_of(op: Op) -> str:
    if op["composite"]:
        return "from its expansion"
    if op["has_grad"]:
        return "yes"
    return f"no: {op['no_grad_reason']}" if op["no_grad_reason"] else "no"


def section(op: Op) -> str:
    name = op["name"]
    short = name.partition("_")[2] or name
    seen = ", ".join(SEEN_AS[place].format(name=name, short=short) for place in op["exposed"])
    kind = "composite" if op["composite"] else "view" if op["view"] else "primitive"
    return (
        f"### {name}\n\n```\n{op['schema'].strip()}\n```\n\n{op['doc'].strip()}\n\n"
        f"Seen as {seen}. Kind: {kind}. Gradient: {gradient_of(op)}.\n"
    )


def page(ops: list[Op]) -> str:
    """The whole page; hidden ops (parts of gradients and composites) are left out."""
    public = sorted((op for op in ops if op["exposed"]), key=lambda op: (op["family"], op["name"]))
    parts = [HEAD]
    for family, members in groupby(public, key=lambda op: op["family"]):
        parts.append(f"## {family}\n")
        parts += [section(op) for op in members]
    return "\n".join(parts)


def main(root: Path, arguments: list[str]) -> int:
    path, text = root / PAGE, page(load())
    if arguments == ["--check"]:
        same = path.is_file() and path.read_text(encoding="utf-8") == text
        print(f"reference: {PAGE} is {'current' if same else 'not current; run tools/gen_reference.py'}")
        return 0 if same else 1
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(__file__).resolve().parent.parent, sys.argv[1:]))
