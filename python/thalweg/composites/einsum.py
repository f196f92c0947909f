"""einsum: sums of products named by letters.

In stages: parse the equation into one list of labels an operand (ellipsis dims get labels of their own) · take
diagonals of repeated letters · contract two operands at a time, the pair with the smallest result first, each as one
batched matrix product · sum what is left and order the dims.
"""

from typing import Any

from thalweg._core._tensor import Tensor
from thalweg._registry import export, ops

__all__ = ["einsum"]

_ELLIPSIS = "..."


@export(function=True)
def einsum(equation: Any, *operands: Any) -> Tensor:
    """Sums products of the operands' elements over the labels that the output does not name.

    Takes "ij,jk->ik" and the operands, or operand, list of ints, operand, list of ints, ..., output list. A letter
    repeated in one operand takes the diagonal; `...` stands for dims that broadcast; size 1 broadcasts; without `->`
    the output has the letters seen once, in alphabetical order.

    Raises:
        ValueError: an equation that does not fit the operands, naming the letter and the sizes.

    >>> import thalweg as tw
    >>> tw.einsum("ij,j->i", tw.ones(2, 3), tw.ones(3)).tolist()
    [3.0, 3.0]
    """
    if isinstance(equation, str):
        if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
            operands = tuple(operands[0])
        terms, output = _parse(equation)
    else:
        terms, output, operands = _sublists((equation, *operands))
    if len(terms) != len(operands):
        raise ValueError(f"einsum: {len(terms)} operands are wanted by the equation, got {len(operands)}")
    return _evaluate(terms, output, list(operands))


def _letters(text: str) -> list[str]:
    labels: list[str] = []
    text = text.replace(" ", "")
    while text:
        if text.startswith(_ELLIPSIS):
            if _ELLIPSIS in labels:
                raise ValueError("einsum: at most one ellipsis an operand is wanted, got two")
            labels.append(_ELLIPSIS)
            text = text[3:]
            continue
        if not (text[0].isascii() and text[0].isalpha()):
            raise ValueError(f"einsum: letters and '...' are wanted, got {text[0]!r}")
        labels.append(text[0])
        text = text[1:]
    return labels


def _parse(equation: str) -> tuple[list[list[str]], list[str] | None]:
    left, arrow, right = equation.partition("->")
    return [_letters(term) for term in left.split(",")], _letters(right) if arrow else None


def _sublists(arguments: tuple) -> tuple[list[list[str]], list[str] | None, tuple]:
    def labels(items: Any) -> list[str]:
        result = []
        for item in items:
            if item is not Ellipsis and not (isinstance(item, int) and 0 <= item < 52):
                raise ValueError(f"einsum: labels from 0 to 51 are wanted, got {item!r}")
            result.append(_ELLIPSIS if item is Ellipsis else chr(item + 65 if item < 26 else item + 71))
        return result

    pairs = len(arguments) // 2
    terms = [labels(arguments[2 * i + 1]) for i in range(pairs)]
    output = labels(arguments[-1]) if len(arguments) % 2 else None
    return terms, output, tuple(arguments[2 * i] for i in range(pairs))


def _evaluate(terms: list[list[str]], output: list[str] | None, operands: list[Tensor]) -> Tensor:
    extra = 0  # the dims that ellipses stand for, at most
    for term, x in zip(terms, operands):
        named = len(term) - (_ELLIPSIS in term)
        if x.dim() < named or (x.dim() != named and _ELLIPSIS not in term):
            raise ValueError(f"einsum: {''.join(term)} names {named} dims, the operand has shape {tuple(x.shape)}")
        if _ELLIPSIS in term:
            extra = max(extra, x.dim() - named)
    dots = [f".{i}" for i in range(extra)]
    if output is None:
        counts: dict[str, int] = {}
        for term in terms:
            for label in term:
                counts[label] = counts.get(label, 0) + 1
        once = sorted(label for label, n in counts.items() if n == 1 and label != _ELLIPSIS)
        output = ([_ELLIPSIS] if any(_ELLIPSIS in t for t in terms) else []) + once
    output = _spell(output, dots)
    full = []
    for term, x in zip(terms, operands):
        count = x.dim() - len(term) + 1
        full.append(_spell(term, dots[extra - count :] if _ELLIPSIS in term and count else []))
    _check_output(output, full)
    sizes = _sizes(full, operands)
    simple = [_diagonals(labels, x) for labels, x in zip(full, operands)]
    return _contract_all(simple, output, sizes)


def _spell(labels: list[str], dots: list[str]) -> list[str]:
    result: list[str] = []
    for label in labels:
        result.extend(dots if label == _ELLIPSIS else [label])
    return result


def _check_output(output: list[str], terms: list[list[str]]) -> None:
    known = {label for term in terms for label in term}
    for label in output:
        if output.count(label) > 1:
            raise ValueError(f"einsum: each letter at most once in the output is wanted, got {label} twice")
        if label not in known:
            raise ValueError(f"einsum: the output names {label}, which no operand has")


def _sizes(terms: list[list[str]], operands: list[Tensor]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for term, x in zip(terms, operands):
        own: dict[str, int] = {}
        for label, size in zip(term, x.shape):
            if own.setdefault(label, size) != size:  # a diagonal does not broadcast
                raise ValueError(f"einsum: letter {label} has sizes {own[label]} and {size} in one operand")
            known = sizes.setdefault(label, size)
            if known != size and 1 not in (known, size):
                raise ValueError(f"einsum: letter {label} has sizes {known} and {size}")
            if known == 1:
                sizes[label] = size
    return sizes


def _diagonals(labels: list[str], x: Tensor) -> tuple[list[str], Tensor]:
    labels = list(labels)
    i = 0
    while i < len(labels):
        if labels[i] not in labels[i + 1 :]:
            i += 1
            continue
        j = labels.index(labels[i], i + 1)
        x = x.diagonal(0, i, j)  # the diagonal comes last
        label = labels[i]
        del labels[j], labels[i]
        labels.append(label)
    return labels, x


Term = tuple[list[str], Tensor]


def _contract_all(terms: list[Term], output: list[str], sizes: dict[str, int]) -> Tensor:
    while len(terms) > 1:
        i, j = _cheapest(terms, output, sizes) if len(terms) > 2 else (0, 1)
        a, b = terms[i], terms[j]
        rest = [t for n, t in enumerate(terms) if n not in (i, j)]
        keep = set(output).union(*(labels for labels, _ in rest)) if rest else set(output)
        terms = [*rest, _contract(a, b, keep)]
    labels, x = terms[0]
    gone = [i for i, label in enumerate(labels) if label not in output]
    if gone:
        x = x.sum(gone)
        labels = [label for label in labels if label in output]
    order = [labels.index(label) for label in output]
    return x if order == list(range(len(order))) else x.permute(order)


def _cheapest(terms: list[Term], output: list[str], sizes: dict[str, int]) -> tuple[int, int]:
    """The pair whose product is smallest against what it replaces; the earliest among equals."""

    def count(labels: Any) -> int:
        result = 1
        for label in labels:
            result *= sizes[label]
        return result

    best = None
    for i in range(len(terms)):
        for j in range(i + 1, len(terms)):
            others = set(output).union(*(t[0] for n, t in enumerate(terms) if n not in (i, j)))
            both = set(terms[i][0]) | set(terms[j][0])
            cost = (count(both & others) - count(terms[i][0]) - count(terms[j][0]), count(both))
            if best is None or cost < best[0]:
                best = (cost, (i, j))
    assert best is not None  # there are at least two terms
    return best[1]


def _summed(term: Term, gone: set[str]) -> Term:
    labels, x = term
    dims = [i for i, label in enumerate(labels) if label in gone]
    return ([label for label in labels if label not in gone], x.sum(dims)) if dims else term


def _contract(a: Term, b: Term, keep: set[str]) -> Term:
    """One batched matrix product: shared kept labels are the batch, shared others are contracted."""
    a = _summed(a, {label for label in a[0] if label not in keep and label not in b[0]})
    b = _summed(b, {label for label in b[0] if label not in keep and label not in a[0]})
    (la, x), (lb, y) = a, b
    batch = [label for label in la if label in lb and label in keep]
    inner = [label for label in la if label in lb and label not in keep]
    for label in inner:  # size 1 against more: the sum of the longer times the one
        i, j = la.index(label), lb.index(label)
        if x.shape[i] != y.shape[j]:
            x = x.sum(i, keepdim=True) if x.shape[i] != 1 else x
            y = y.sum(j, keepdim=True) if y.shape[j] != 1 else y
    rows, columns = [v for v in la if v not in lb], [v for v in lb if v not in la]
    if not inner:
        return _outer(la, x, lb, y, batch + rows + columns)
    left = x.permute([la.index(v) for v in batch + rows + inner])
    right = y.permute([lb.index(v) for v in batch + inner + columns])
    count = len(batch)
    row_sizes, inner_sizes = left.shape[count : count + len(rows)], left.shape[count + len(rows) :]
    column_sizes = right.shape[count + len(inner) :]
    left = left.reshape([*left.shape[:count], _count(row_sizes), _count(inner_sizes)])
    right = right.reshape([*right.shape[:count], _count(inner_sizes), _count(column_sizes)])
    product = ops.matmul(left, right)
    return batch + rows + columns, product.reshape([*product.shape[:count], *row_sizes, *column_sizes])


def _outer(la: list[str], x: Tensor, lb: list[str], y: Tensor, labels: list[str]) -> Term:
    """Without labels to contract: a pointwise product."""

    def spread(own: list[str], t: Tensor) -> Tensor:
        t = t.permute([own.index(v) for v in labels if v in own])
        return t.reshape([t.shape[[v for v in labels if v in own].index(v)] if v in own else 1 for v in labels])

    return labels, spread(la, x) * spread(lb, y)


def _count(sizes: Any) -> int:
    result = 1
    for size in sizes:
        result *= size
    return result
