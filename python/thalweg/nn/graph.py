"""A model and its training step as one static program, in OneFlow's terms."""

from __future__ import annotations

import thalweg as tw
from thalweg.jit.function import Compiled
from thalweg.jit.micro_batches import micro_batches
from thalweg.jit.prefetch import results_over
from thalweg.nn.graph_module import GraphModule
from thalweg.nn.module import Module

__all__ = ["Graph", "GraphConfig", "GraphModule"]


class GraphConfig:
    """How a graph is compiled: its attribute `config`, to be set before its first call."""

    def __init__(self, graph):
        self._graph = graph
        self._parts = 1

    def _check_new(self, method):
        if self._graph.is_compiled:
            raise RuntimeError(f"{method}: the graph has been called already; configure it in __init__")

    def set_gradient_accumulation_steps(self, value):
        """Runs build on `value` equal parts of the batch, one after the other in the same memory, then the optimizers
        once on the gradient of the mean loss: see `tw.micro_batches`, which also says what the graph returns.
        """
        self._check_new("set_gradient_accumulation_steps")
        if type(value) is not int or value < 1:
            raise ValueError(f"set_gradient_accumulation_steps: a positive number is wanted, got {value!r}")
        self._parts = value

    def set_memory_budget(self, size_bytes):
        """The most bytes that a program of the graph may take: see `memory_budget` of `tw.jit`. None: any."""
        self._check_new("set_memory_budget")
        self._graph._compiled.set_memory_budget(size_bytes)


class Graph:
    """Base of static programs written as classes: define build(...), call the object.

    Modules are attributes, set in __init__. With add_optimizer, build runs backward, and the optimizers' steps follow
    it in the program; gradients are cleared after them. The same program runs in every call with arguments of the same
    kind (see `tw.jit`, which says what `asynchronous` and `steps_in_flight` do).

    >>> import thalweg as tw
    >>> class Fit(tw.nn.Graph):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.model = tw.nn.Linear(1, 1)
    ...         self.add_optimizer(tw.optim.SGD(self.model.parameters(), lr=0.5))
    ...     def build(self, x, y):
    ...         loss = tw.nn.functional.mse_loss(self.model(x), y)
    ...         loss.backward()
    ...         return loss
    >>> fit, x = Fit(), tw.linspace(-1, 1, 8).unsqueeze(1)
    >>> for _ in range(100):
    ...     loss = fit(x, 3 * x + 1)
    >>> print(f"{fit.model.weight.item():.3f}")
    3.000
    """

    def __init__(self, *, asynchronous=False, steps_in_flight=2):
        self.name = type(self).__name__
        self._optimizers = []  # (optimizer, its schedule or None)
        self._compiled = Compiled(self._run, self.name, steps_in_flight=steps_in_flight if asynchronous else 0)
        self.config = GraphConfig(self)

    def build(self, *args, **kwargs):
        """The program: subclasses define it. It may take and return what a function of `tw.jit` may."""
        raise NotImplementedError(f"{type(self).__name__} does not define build")

    def add_optimizer(self, optim, *, lr_sch=None):
        """Steps `optim` after each build, and then its schedule `lr_sch`.

        Errors: TypeError for what is no optimizer; RuntimeError once the graph has been called.
        """
        if not isinstance(optim, tw.optim.Optimizer):
            raise TypeError(f"add_optimizer: an optimizer is wanted, got {type(optim).__name__}")
        if self.is_compiled:
            raise RuntimeError("add_optimizer: the graph has been called already; add optimizers in __init__")
        self._optimizers.append((optim, lr_sch))

    def __call__(self, *args, **kwargs):
        result = self._compiled(*args, **kwargs)
        for _, schedule in self._optimizers:
            if schedule is not None:
                schedule.step()
        return result

    def over(self, batches, *, ahead=2):
        """Yields the result of a call for each batch, while further ones are read: see `thalweg.jit.Compiled.over`."""
        return results_over(self, batches, ahead)

    def _run(self, *args, **kwargs):
        result = micro_batches(self.build, self.config._parts)(*args, **kwargs)
        for optimizer, _ in self._optimizers:
            optimizer.step()
            optimizer.zero_grad()
        return result

    @property
    def is_compiled(self):
        """Whether the graph has been called, and so traced."""
        return self._compiled.trace_count > 0

    @property
    def training(self):
        """Whether calls of the graph train: it has an optimizer."""
        return bool(self._optimizers)

    def plan(self, number=0):
        """The plan of a program of the graph: see `Compiled.plan`."""
        return self._compiled.plan(number)

    def explain(self):
        """Says for each trace why it was made: see `tw.jit.explain`."""
        return self._compiled.explain()

    def _modules(self):
        return {name: value for name, value in vars(self).items() if isinstance(value, Module)}

    def state_dict(self):
        """{name of the attribute: state_dict of the module}, shared with the modules, not copied."""
        return {name: module.state_dict() for name, module in self._modules().items()}

    def load_state_dict(self, state_dict, strict=True):
        """Loads what state_dict gave into the modules.

        Errors: KeyError where the modules' names differ and `strict` is set.
        """
        modules = self._modules()
        if strict and modules.keys() != state_dict.keys():
            raise KeyError(f"load_state_dict: states of {sorted(modules)} are wanted, got {sorted(state_dict)}")
        for name, module in modules.items():
            if name in state_dict:
                module.load_state_dict(state_dict[name], strict=strict)
