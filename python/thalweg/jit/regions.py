"""Regions while they are recorded: numbers in them, what loops carry."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from thalweg import _registry
from thalweg._core import _native
from thalweg._core._tensor import Tensor
from thalweg.frontend import dtypes
from thalweg.frontend.global_creation import beside, like
from thalweg.jit.context import tracing
from thalweg.jit.tree import flatten, key_of, unflatten

__all__ = [
    "Again",
    "Carried",
    "Gradients",
    "Recording",
    "as_tensor",
    "beside_any",
    "number_like",
    "predicate",
    "same_number",
    "type_text",
    "zeros_like_leaf",
]

_BOOL = dtypes.as_dtype(bool)
_NUMBER_DTYPES = {bool: _BOOL, int: dtypes.int64}


def type_text(leaf: Any) -> str:
    if isinstance(leaf, Tensor):
        return f"a {str(leaf.dtype).removeprefix('thalweg.')} tensor of shape {list(leaf.shape)}"
    return f"the number {leaf!r}"


def _kind(number: Any) -> type:
    """bool, int or float, also of a number that a program gets in every call."""
    return number.__class__


def as_tensor(number: Any, dtype: Any = None) -> Tensor:
    """A number as a 0-dim tensor of the graph at hand."""
    dtype = dtype or _NUMBER_DTYPES.get(_kind(number)) or dtypes.get_default_dtype()
    return _registry.FUNCTIONS["full"]([], number, dtype=dtype)


def predicate(op: str, pred: Any) -> Tensor:
    if not isinstance(pred, Tensor) or pred.numel() != 1:
        got = type_text(pred) if isinstance(pred, Tensor) else repr(pred)
        raise TypeError(f"{op}: its predicate is a bool or a tensor of one element, got {got}")
    pred = pred.detach()
    if pred.dtype != _BOOL:
        pred = pred != 0
    return pred.reshape([]) if pred.dim() else pred


class Recording:
    """A region: what is called inside `with` is recorded in it."""

    def __init__(self, name: str) -> None:
        self.region = _native.Region(tracing.current.tracer, name)

    def __enter__(self) -> Any:
        return self.region

    def __exit__(self, kind: Any, *_: Any) -> None:
        self.region.drop()


class Gradients:
    """What a region does to `.grad` of tensors of the outside: it is made before the region, which adds to it."""

    def __init__(self) -> None:
        self._leaves: list[Tensor] = []
        self._made: list[Tensor] = []

    def prepare(self) -> None:
        """Before the region: zeros, or a copy of what is there, where the region is known to make another one."""
        for leaf in self._leaves:
            leaf.grad = zeros_like_leaf(leaf) if leaf.grad is None else leaf.grad.detach().clone()
            self._made.append(leaf.grad)
        self._leaves = []

    def settle(self, region: Any) -> None:
        """At the end of the region. Raises Again where it makes gradients that nobody knew of."""
        for leaf, before in region.changed_grads():
            if leaf.grad is None:
                raise NotImplementedError(
                    "a traced function: a branch or a loop body takes away the .grad of a tensor of the outside, of "
                    f"shape {list(leaf.shape)}, and leaves none; fill it with zeros instead"
                )
            if not any(before is made for made in self._made):
                self._leaves.append(leaf)
                continue
            before.copy_(leaf.grad)
            leaf.grad = before
        if self._leaves:
            raise Again


def zeros_like_leaf(leaf: Tensor) -> Tensor:
    with like(leaf):
        return _registry.FUNCTIONS["full"](list(leaf.shape), 0, dtype=leaf.dtype)


def beside_any(values: Any) -> AbstractContextManager:
    """What is made from nothing within it goes with the first global tensor among nested values, if there is one."""
    leaves: list = []
    flatten(values, leaves)
    for leaf in leaves:
        if isinstance(leaf, Tensor) and _native.is_global(leaf):
            return beside(leaf)
    return nullcontext()


def same_number(a: Any, b: Any) -> bool:
    """Whether two leaves are the same number, in every call."""
    return a is b or (type(a) is type(b) and type(a) in (int, float, bool) and a == b)


def number_like(number: Any, other: Any) -> Tensor:
    if isinstance(other, Tensor):
        return as_tensor(number, other.dtype)
    kinds = (bool, int, float)
    kind = kinds[max(kinds.index(_kind(number)), kinds.index(_kind(other)))]
    return as_tensor(number, _NUMBER_DTYPES.get(kind))


class Carried:
    """What a loop carries: nested tensors and numbers, which become tensors."""

    def __init__(self, op: str, values: Any, names: Sequence[str] = ()) -> None:
        """`names`: of the values, where these are a list of variables."""
        self.op = op
        self.leaves: list = []
        self.tree = flatten(values, self.leaves)
        self._names: list[str] = []
        for name, value in zip(names, values if names else ()):
            own: list = []
            flatten(value, own)
            self._names += [name] * len(own)
        self.gradients = Gradients()
        self.on_tape: set[int] = set()  # places through which gradients flow
        self.histories: list[Tensor] = []  # tensors of the outside that the body writes with a gradient
        self.dtypes: dict[int, Any] = {}  # of places that hold a number in the beginning

    def tensors(self, others: Sequence[Tensor] = ()) -> list[Tensor]:
        """Outside the region, before the first iteration. Numbers become tensors beside a global one among the
        carried tensors and `others`, where there is one."""
        self.gradients.prepare()
        with beside_any([*self.leaves, *others]):
            self.before = [
                leaf if isinstance(leaf, Tensor) else as_tensor(leaf, self.dtypes.get(i))
                for i, leaf in enumerate(self.leaves)
            ]
        return self.before

    def begin(self, region: Any, parts: Sequence[Tensor] = ()) -> tuple[list[Tensor], list[Tensor]]:
        """The inputs of the region for what is carried, and for parts."""
        self.on_tape |= {i for i, leaf in enumerate(self.leaves) if isinstance(leaf, Tensor) and leaf.requires_grad}
        inputs = [region.add_input(tensor, False, i in self.on_tape) for i, tensor in enumerate(self.before)]
        slices = [region.add_input(part, True, part.requires_grad) for part in parts]
        for base in self.histories:
            region.carry_history(base)
        return inputs, slices

    def finish(self, region: Any, results: list[Tensor]) -> None:
        """Raises Again where the body writes to tensors of the outside with a gradient: it has to know them before."""
        self.gradients.settle(region)
        if others := region.finish(results):
            self.histories += others
            raise Again

    def check(self, values: Any, inputs: list[Tensor]) -> list[Tensor]:
        """What the body gives for the next iteration. Raises Again where a number turns out to be another dtype."""
        leaves: list = []
        tree = flatten(values, leaves)
        if key_of(tree) != key_of(self.tree):
            before, after = unflatten(self.tree, self.leaves), unflatten(tree, leaves)
            raise TypeError(
                f"{self.op}: what is carried keeps its structure, but it is {before!r} before an iteration "
                f"and {after!r} after it"
            )
        again = False
        for i, (leaf, given) in enumerate(zip(leaves, inputs)):
            if not isinstance(leaf, Tensor):
                leaves[i] = leaf = as_tensor(leaf, given.dtype if _kind(leaf) is not float else None)
            if leaf.dtype == given.dtype and leaf.shape == given.shape:
                if leaf.requires_grad and i not in self.on_tape:
                    self.on_tape.add(i)
                    again = True
                continue
            if leaf.shape == given.shape and not isinstance(self.leaves[i], Tensor) and i not in self.dtypes:
                self.dtypes[i] = leaf.dtype
                again = True
                continue
            raise TypeError(
                f"{self.op}: {self._names[i] if self._names else 'a carried value'} keeps its dtype and shape, but it "
                f"is {type_text(given)} before an iteration and {type_text(leaf)} after it"
            )
        if again:
            raise Again
        return leaves


class Again(Exception):
    """The region has to be recorded anew: it has shown what has to stand around it."""
