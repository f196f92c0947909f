"""What static programs do with a module, in OneFlow's terms."""

from __future__ import annotations

from thalweg.utils.checkpoint import checkpoint

__all__ = ["GraphModule"]


class GraphModule:
    """Made by `module.to(tw.nn.graph.GraphModule)`; settings apply to programs that are traced from then on.

    Attributes: `activation_checkpointing`, whether the values inside a call of the module are computed again in
    backward instead of being kept, as by `tw.checkpoint`.

    >>> import thalweg as tw
    >>> layer = tw.nn.Linear(2, 2)
    >>> layer.to(tw.nn.graph.GraphModule).activation_checkpointing = True
    >>> layer.to(tw.nn.graph.GraphModule).activation_checkpointing
    True
    """

    __slots__ = ("_module",)

    def __init__(self, module):
        self._module = module

    @property
    def activation_checkpointing(self):
        return self._module.__dict__.get("_around_call") is checkpoint

    @activation_checkpointing.setter
    def activation_checkpointing(self, value):
        if type(value) is not bool:
            raise TypeError(f"activation_checkpointing: True or False is wanted, got {value!r}")
        self._module._around_call = checkpoint if value else None
