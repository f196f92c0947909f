"""What the CUDA kernels cost, as their files say: a line of the opening comment of each,

    // Per element: 12 bytes and 1 operation (add, float32).

or, of matrices, "8 n bytes and 2/3 n operations", for the op and dtype in brackets: bytes that have to pass the memory,
and instructions of arithmetic; "tensor operations" are flops of tensor cores. Of these follows the least time on a
device. The comment also says what the floor is.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

# An H200: HBM3e, of which a copy gets some 0.9; float32 instructions (half its 67 TFLOP/s, as a multiply-add counts
# twice); dense bfloat16 on tensor cores.
BYTES_A_SECOND = 0.9 * 4.8e12
OPERATIONS_A_SECOND = 33.5e12
TENSOR_OPERATIONS_A_SECOND = 989e12
ELEMENTS = 2**28

MATRIX = 64  # rows and columns, n
AMOUNT = r"([\d./]+(?: n)?|n / \d+)"
COST = re.compile(rf"^// Per element: {AMOUNT} bytes and {AMOUNT} (tensor )?operations? \((.+)\)\.$", re.M)
# File: why no cost of an element stands there.
LIBRARY = "a product of a library, which states its flops"
WITHOUT = {"matmul.cu": LIBRARY, "addmm.cu": LIBRARY, "linear.cu": LIBRARY, "convolution.cu": LIBRARY}


def number(amount: str) -> float:
    """An amount such as 12, 4.4, 8 n, 2/3 n or n / 3."""
    if amount.startswith("n / "):
        return MATRIX / int(amount[4:])
    return float(Fraction(amount.removesuffix(" n"))) * (MATRIX if amount.endswith(" n") else 1)


@dataclass(frozen=True)
class Cost:
    """Of an element of an op, in a file of kernels."""

    file: str
    op: str
    size_bytes: str
    operations: str
    tensor: bool

    def times(self) -> tuple[float, float]:
        """Seconds of the memory and of arithmetic, for ELEMENTS elements."""
        rate = TENSOR_OPERATIONS_A_SECOND if self.tensor else OPERATIONS_A_SECOND
        return ELEMENTS * number(self.size_bytes) / BYTES_A_SECOND, ELEMENTS * number(self.operations) / rate


def opening_comment(text: str) -> str:
    return re.match(r"(?://.*\n)*", text)[0]  # type: ignore[index]  # it matches nothing at least


def costs_of(file: str, text: str) -> tuple[list[Cost], list[str]]:
    """The costs that a file states, and what it fails to say."""
    comment = opening_comment(text)
    found = [Cost(file, op, b, n, bool(tensor)) for b, n, tensor, op in COST.findall(comment)]
    problems = []
    if not found and file not in WITHOUT:
        problems.append(f'{file}: the opening comment has no line "Per element: N bytes and M operations (op, dtype)."')
    if not re.search(r"\b[Ff]loor\b", comment):
        problems.append(f"{file}: the opening comment does not say what the floor is")
    return found, problems


def costs(root: Path) -> tuple[list[Cost], list[str]]:
    """Of all files of kernels."""
    found: list[Cost] = []
    problems: list[str] = []
    for path in sorted((root / "cuda").rglob("*.cu"), key=lambda path: path.name):
        stated, missing = costs_of(path.name, path.read_text(encoding="utf-8"))
        found += stated
        problems += missing
    return found, problems


def table(found: Sequence[Cost]) -> list[str]:
    """Lines of Markdown."""
    lines = [
        "| file | op, dtype | bytes | operations | ms | limit |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for cost in found:
        memory, arithmetic = cost.times()
        limit = "memory" if memory >= arithmetic else "tensor cores" if cost.tensor else "arithmetic"
        ms = 1e3 * max(memory, arithmetic)
        lines.append(f"| {cost.file} | {cost.op} | {cost.size_bytes} | {cost.operations} | {ms:.2f} | {limit} |")
    return lines
