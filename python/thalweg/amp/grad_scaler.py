"""Scaling of the loss, so that small gradients survive float16 (Micikevicius et al., 2018)."""

from __future__ import annotations

import functools
import operator

import thalweg as tw
from thalweg._registry import ops
from thalweg.frontend.placements import by_placement, one_placement
from thalweg.jit.context import tracing

__all__ = ["GradScaler"]

_FLOAT32_MAX = 3.4028234663852886e38


class GradScaler:
    """Multiplies the loss by a scale, divides the gradients by it, and skips steps whose gradients overflowed.

    Args:
        device: kept for reference; scaling is the same on every device.
        init_scale: the first scale.
        growth_factor: the scale is multiplied by it after growth_interval steps without overflow; above 1.
        backoff_factor: and by this after one with overflow; below 1.
        growth_interval: see above.
        enabled: without it every method passes through.

    Each iteration: `scale(loss).backward()`, perhaps `unscale_(optimizer)` to clip, `step(optimizer)`, `update()`.
    Gradients may be global tensors: an overflow in the part of one device skips the step on all.

    >>> import thalweg as tw
    >>> weight = tw.nn.Parameter(tw.zeros(1))
    >>> optimizer, scaler = tw.optim.SGD([weight], lr=1.0), tw.amp.GradScaler(init_scale=4.0)
    >>> scaler.scale(weight.sum()).backward()
    >>> weight.grad.item()
    4.0
    >>> scaler.step(optimizer)
    >>> scaler.update()
    >>> weight.item()
    -1.0
    """

    def __init__(
        self, device="cuda", init_scale=2.0**16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000,
        enabled=True,
    ):  # fmt: skip
        if growth_factor <= 1.0:
            raise ValueError(f"GradScaler: a growth_factor above 1 is wanted, got {growth_factor}")
        if not 0.0 < backoff_factor < 1.0:
            raise ValueError(f"GradScaler: a backoff_factor between 0 and 1 is wanted, got {backoff_factor}")
        self._device, self._enabled = device, enabled
        self._scale, self._growth_factor, self._backoff_factor = float(init_scale), growth_factor, backoff_factor
        self._growth_interval, self._growth_tracker = growth_interval, 0
        self._found_inf = {}  # by the optimizer's id: whether its unscaled gradients overflowed, a bool tensor
        self._stepped = set()  # ids of optimizers that stepped since the last update
        self._updating = False  # in a traced function, after update

    def scale(self, outputs):
        """`outputs`, a tensor or nested lists and tuples of them, times the scale."""
        if not self._enabled:
            return outputs
        self._enter_trace()
        if isinstance(outputs, tw.Tensor):
            return outputs * self._scale
        if isinstance(outputs, (list, tuple)):
            scaled = [self.scale(output) for output in outputs]
            return type(outputs)(*scaled) if hasattr(outputs, "_fields") else type(outputs)(scaled)
        raise TypeError(f"scale: a tensor or lists and tuples of them are wanted, got {type(outputs).__name__}")

    def unscale_(self, optimizer):
        """Divides the gradients of the optimizer's parameters by the scale, in place; once before each step.

        Errors: ValueError when called twice or after step, or for float16 gradients, which are not to be unscaled.
        """
        if not self._enabled:
            return
        if id(optimizer) in self._stepped:
            raise ValueError("unscale_: a call before step is wanted, got one after it")
        if id(optimizer) in self._found_inf:
            raise ValueError("unscale_: one call between updates is wanted, got a second")
        self._enter_trace()
        params = [param for group in optimizer.param_groups for param in group["params"]]
        grads = [param.grad for param in params if param.grad is not None]
        if any(grad.dtype == tw.float16 for grad in grads):
            raise ValueError("unscale_: gradients of float32 parameters are wanted, got float16")
        with tw.no_grad():
            self._found_inf[id(optimizer)] = _unscale(grads, 1.0 / self._scale)

    def step(self, optimizer, *args, **kwargs):
        """Unscales unless that was done, then `optimizer.step(*args, **kwargs)`, unless gradients overflowed.

        Returns: what optimizer.step returned, or None for a skipped step.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if args or "closure" in kwargs:
            raise ValueError("step: no closure is wanted while scaling is enabled")
        if id(optimizer) in self._stepped:
            raise ValueError("step: one call between updates is wanted, got a second")
        if id(optimizer) not in self._found_inf:
            self.unscale_(optimizer)
        found_inf = self._found_inf[id(optimizer)]
        if found_inf is None:
            raise ValueError("step: gradients are wanted, got an optimizer without any")
        self._stepped.add(id(optimizer))
        if tracing.current is not None:
            return tracing.current.step_unless(found_inf, optimizer, kwargs)
        return None if found_inf.item() else optimizer.step(*args, **kwargs)

    def update(self, new_scale=None):
        """Adapts the scale to whether any step since the last update overflowed, or sets it to `new_scale`."""
        if not self._enabled:
            return
        found = [flag for flag in self._found_inf.values() if flag is not None]
        if new_scale is None and not found:
            raise ValueError("update: a step since the last update is wanted, got none")
        self._enter_trace()
        if tracing.current is not None:  # the flags are known when the program has run
            tracing.current.add_callback(self._adapt, (found, new_scale), {})
            self._updating = True
        else:
            self._adapt(found, new_scale)
        self._found_inf.clear()
        self._stepped.clear()

    def _adapt(self, found, new_scale):
        if new_scale is not None:
            self._scale = new_scale.item() if isinstance(new_scale, tw.Tensor) else float(new_scale)
        elif any(flag.item() for flag in found):
            self._scale *= self._backoff_factor
            self._growth_tracker = 0
        else:
            self._growth_tracker += 1
            if self._growth_tracker == self._growth_interval:
                grown = self._scale * self._growth_factor
                self._scale = grown if grown <= _FLOAT32_MAX else self._scale
                self._growth_tracker = 0

    def _enter_trace(self):
        """In a traced function the scale is a number of the program, which must not be asked for after an update."""
        if tracing.current is not None:
            tracing.current.lift_scaler(self)
            if self._updating:
                raise RuntimeError("GradScaler: the scale after update is known only when the traced function has run")

    def forget_step(self):
        """Ends a trace: whether an iteration had begun that no update has ended."""
        begun = bool(self._found_inf)
        self._found_inf.clear()
        self._stepped.clear()
        self._updating = False
        return begun

    def get_scale(self):
        """The scale, a float; 1 when not enabled."""
        self._enter_trace()
        return self._scale if self._enabled else 1.0

    def is_enabled(self):
        """Whether scaling is enabled."""
        return self._enabled

    def get_growth_factor(self):
        """The factor of growth."""
        return self._growth_factor

    def set_growth_factor(self, new_factor):
        """Sets the factor of growth."""
        self._growth_factor = new_factor

    def get_backoff_factor(self):
        """The factor after an overflow."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor):
        """Sets the factor after an overflow."""
        self._backoff_factor = new_factor

    def get_growth_interval(self):
        """The number of steps before growth."""
        return self._growth_interval

    def set_growth_interval(self, new_interval):
        """Sets the number of steps before growth."""
        self._growth_interval = new_interval

    def state_dict(self):
        """Scale, factors, interval and the count of good steps; empty when not enabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth_tracker,
        }

    def load_state_dict(self, state_dict):
        """Takes over what state_dict gave. Errors: ValueError for an empty dict."""
        if not self._enabled:
            return
        if not state_dict:
            raise ValueError("load_state_dict: the state of an enabled scaler is wanted, got an empty dict")
        self._scale = float(state_dict["scale"])
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._growth_tracker = int(state_dict["_growth_tracker"])


def _unscale(grads, factor):
    """Multiplies by `factor` in place; returns whether some element is not finite: a bool tensor, None for no grads.

    All processes that hold a part have the same answer.
    """
    found = [_unscale_together(group, factor) for group in by_placement(grads)]
    return functools.reduce(operator.or_, one_placement(found)) if found else None


def _unscale_together(grads, factor):
    """The same for gradients on one placement."""
    where = grads[0].placement if grads[0].is_global else None
    if where is None:
        found = tw.zeros((), dtype=tw.bool, device=grads[0].device)
    else:  # each device says what it has met
        found = tw.zeros((), dtype=tw.bool, placement=where, sbp=[tw.sbp.partial_max] * where.ndim)
    reals = [tw.view_as_real(grad) if grad.is_complex() else grad for grad in grads]
    ops.multi_tensor_unscale(reals, found, factor=factor)
    return found if where is None else found.to_global(sbp=[tw.sbp.broadcast] * where.ndim)
