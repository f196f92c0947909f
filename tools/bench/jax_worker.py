"""The process in which JAX takes its turns: `python -m bench.jax_worker JOB.npz`.

XLA sizes its thread pool once, by the cores that the process may run on; so each number of threads is a process of its
own. It prints the first losses, then answers each line on its input with the seconds of a call.
"""

import os
import sys
from typing import Any

import numpy as np

CHECKED_STEPS = 3


def _pointwise(arrays: dict[str, Any]) -> Any:
    import jax  # noqa: PLC0415 - after the process has been bound to its cores
    import jax.numpy as jnp  # noqa: PLC0415

    def function(x: jax.Array, w: jax.Array, b: jax.Array, scale: jax.Array, shift: jax.Array) -> jax.Array:
        h = jax.nn.gelu(x * w + b, approximate=False)
        mean, variance = h.mean(-1, keepdims=True), h.var(-1, keepdims=True)
        return (h - mean) * jax.lax.rsqrt(variance + 1e-5) * scale + shift

    @jax.jit
    def both(upstream: jax.Array, *inputs: jax.Array) -> Any:
        y, backward = jax.vjp(function, *inputs)
        return y, backward(upstream)

    inputs = [jnp.asarray(arrays[name]) for name in ("upstream", "x", "w", "b", "scale", "shift")]
    return lambda: jax.block_until_ready(both(*inputs))


def _step(name: str, arrays: dict[str, Any]) -> Any:
    import jax.numpy as jnp  # noqa: PLC0415

    from bench.models import in_jax  # noqa: PLC0415

    groups: dict[str, dict[str, Any]] = {"param": {}, "state": {}}
    for key, array in arrays.items():
        group, _, rest = key.partition("/")
        if group in groups:
            groups[group][rest] = array
    step = in_jax.training_step(name, groups["param"], groups["state"])
    x, y = jnp.asarray(arrays["x"]), jnp.asarray(arrays["y"])
    print(*(float(step(x, y)) for _ in range(CHECKED_STEPS)), flush=True)
    return lambda: step(x, y)


def main(path: str) -> None:
    """Serves turns until its input ends."""
    with np.load(path) as file:
        arrays = dict(file)
    name, threads = str(arrays.pop("name")), int(arrays.pop("threads"))
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    from bench.measure import timed  # noqa: PLC0415

    call = _pointwise(arrays) if name == "pointwise" else _step(name, arrays)
    sample = timed(call)
    for _ in sys.stdin:
        print(sample(), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
