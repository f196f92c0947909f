"""The models of the training steps once more, as JAX writes them: pure functions of a dict of arrays.

Parameters have the names that `named_parameters()` gives them on the other sides, and the same numbers. Images are laid
out with channels last, which suits XLA on the CPU best.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bench.models import gpt, resnet

Arrays = dict[str, jax.Array]


def _linear(params: Arrays, name: str, x: jax.Array) -> jax.Array:
    y = x @ params[f"{name}.weight"].T
    return y + params[f"{name}.bias"] if f"{name}.bias" in params else y


def _cross_entropy(logits: jax.Array, target: jax.Array) -> jax.Array:
    picked = jnp.take_along_axis(jax.nn.log_softmax(logits), target[:, None], axis=-1)
    return -picked.mean()


def mlp_loss(params: Arrays, state: Arrays, x: jax.Array, y: jax.Array) -> tuple[jax.Array, Arrays]:
    """Three linear layers."""
    x = jax.nn.relu(_linear(params, "0", x))
    x = jax.nn.relu(_linear(params, "2", x))
    return _cross_entropy(_linear(params, "4", x), y), state


def _layer_norm(params: Arrays, name: str, x: jax.Array) -> jax.Array:
    mean = x.mean(-1, keepdims=True)
    variance = x.var(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * params[f"{name}.weight"] + params[f"{name}.bias"]


def _block(params: Arrays, name: str, x: jax.Array) -> jax.Array:
    b, t, width = x.shape
    qkv = _linear(params, f"{name}.qkv", _layer_norm(params, f"{name}.norm1", x))
    q, k, v = jnp.moveaxis(qkv.reshape(b, t, 3, gpt.HEADS, width // gpt.HEADS), 2, 0)
    attended = jax.nn.dot_product_attention(q, k, v, is_causal=True)
    x = x + _linear(params, f"{name}.project", attended.reshape(b, t, width))
    up = jax.nn.gelu(_linear(params, f"{name}.up", _layer_norm(params, f"{name}.norm2", x)), approximate=False)
    return x + _linear(params, f"{name}.down", up)


def gpt_loss(params: Arrays, state: Arrays, x: jax.Array, y: jax.Array) -> tuple[jax.Array, Arrays]:
    """The character model."""
    h = params["tokens.weight"][x] + params["positions.weight"]
    for i in range(gpt.LAYERS):
        h = _block(params, f"blocks.{i}", h)
    logits = _linear(params, "head", _layer_norm(params, "norm", h))
    return _cross_entropy(logits.reshape(-1, gpt.VOCABULARY), y.reshape(-1)), state


class _ResNet:
    """Applies layers; collects the running statistics that the norms leave."""

    def __init__(self, params: Arrays, state: Arrays) -> None:
        self.params, self.state, self.next_state = params, state, dict(state)

    def conv(self, name: str, x: jax.Array, stride: int) -> jax.Array:
        weight = jnp.transpose(self.params[f"{name}.weight"], (2, 3, 1, 0))
        pad = weight.shape[0] // 2
        layout = ("NHWC", "HWIO", "NHWC")
        return jax.lax.conv_general_dilated(
            x, weight, (stride, stride), [(pad, pad), (pad, pad)], dimension_numbers=layout
        )

    def norm(self, name: str, x: jax.Array) -> jax.Array:
        mean, variance = x.mean((0, 1, 2)), x.var((0, 1, 2))
        count = x.size / x.shape[-1]
        for key, value in (("mean", mean), ("var", variance * (count / (count - 1)))):
            running = f"{name}.running_{key}"
            self.next_state[running] = 0.9 * self.state[running] + 0.1 * value
        scaled = (x - mean) * jax.lax.rsqrt(variance + 1e-5)
        return scaled * self.params[f"{name}.weight"] + self.params[f"{name}.bias"]

    def block(self, name: str, x: jax.Array, stride: int) -> jax.Array:
        y = jax.nn.relu(self.norm(f"{name}.norm1", self.conv(f"{name}.conv1", x, stride)))
        y = self.norm(f"{name}.norm2", self.conv(f"{name}.conv2", y, 1))
        if f"{name}.shortcut.0.weight" in self.params:
            x = self.norm(f"{name}.shortcut.1", self.conv(f"{name}.shortcut.0", x, stride))
        return jax.nn.relu(y + x)


def resnet_loss(params: Arrays, state: Arrays, x: jax.Array, y: jax.Array) -> tuple[jax.Array, Arrays]:
    """ResNet-18."""
    net = _ResNet(params, state)
    h = jax.nn.relu(net.norm("1", net.conv("0", jnp.transpose(x, (0, 2, 3, 1)), 1)))
    layer = 3
    for _, stride in resnet.STAGES:
        h = net.block(f"{layer}", h, stride)
        h = net.block(f"{layer + 1}", h, 1)
        layer += 2
    return _cross_entropy(_linear(params, f"{layer + 2}", h.mean((1, 2))), y), net.next_state


def _sgd(params: Arrays, grads: Arrays, moments: dict) -> tuple[Arrays, dict]:
    momentum = jax.tree.map(lambda m, g: 0.9 * m + g, moments["m"], grads)
    return jax.tree.map(lambda p, m: p - 0.01 * m, params, momentum), {"m": momentum}


def _adamw(params: Arrays, grads: Arrays, moments: dict) -> tuple[Arrays, dict]:
    count = moments["count"] + 1
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, moments["m"], grads)
    v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, moments["v"], grads)
    scale_m, scale_v = 1 - 0.9**count, 1 - 0.999**count

    def update(p: jax.Array, m: jax.Array, v: jax.Array) -> jax.Array:
        return p * (1 - 3e-4 * 0.01) - 3e-4 * (m / scale_m) / (jnp.sqrt(v / scale_v) + 1e-8)

    return jax.tree.map(update, params, m, v), {"m": m, "v": v, "count": count}


LOSSES: dict[str, Callable] = {"mlp": mlp_loss, "gpt": gpt_loss, "resnet": resnet_loss}
OPTIMIZERS: dict[str, Callable] = {"mlp": _sgd, "gpt": _adamw, "resnet": _sgd}


def training_step(model: str, params: dict[str, np.ndarray], state: dict[str, np.ndarray]) -> Callable[..., Any]:
    """A call that makes one step on (x, y) and returns the loss, with its arrays updated in place by donation."""
    loss, optimizer = LOSSES[model], OPTIMIZERS[model]

    def step(params: Arrays, state: Arrays, moments: dict, x: jax.Array, y: jax.Array) -> Any:
        (value, state), grads = jax.value_and_grad(loss, has_aux=True)(params, state, x, y)
        params, moments = optimizer(params, grads, moments)
        return params, state, moments, value

    compiled = jax.jit(step, donate_argnums=(0, 1, 2))
    zeros = {name: jnp.zeros(array.shape, jnp.float32) for name, array in params.items()}
    moments: dict[str, Any] = {"m": zeros}
    if optimizer is _adamw:
        moments |= {"v": jax.tree.map(jnp.zeros_like, zeros), "count": jnp.zeros(())}
    held = [jax.tree.map(jnp.array, params), jax.tree.map(jnp.array, state), moments]

    def call(x: jax.Array, y: jax.Array) -> jax.Array:
        *held[:], value = compiled(*held, x, y)
        return value.block_until_ready()

    return call
