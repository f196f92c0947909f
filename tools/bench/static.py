"""Static programs against torch eager, `torch.compile` and JAX's `jit`: training steps, a chain of pointwise ops."""

import importlib.util
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from bench.frameworks import OURS, TORCH, Framework
from bench.kernels import ROWS_COUNT, WIDTH
from bench.measure import Contender, timed
from bench.models import gpt, mlp, resnet
from bench.rows import Context, Row, check_same
from bench.steps import CHECKED_STEPS, training_step

COMPILED, JAX = "torch.compile", "JAX jit"
TOOLS = Path(__file__).resolve().parents[1]


class JaxProcess:
    """JAX in a process of its own, which waits while others take their turns; it ends with this object."""

    def __init__(self, name: str, threads: int, arrays: dict[str, np.ndarray]) -> None:
        self._folder = tempfile.TemporaryDirectory()
        job = Path(self._folder.name) / "job.npz"
        job_arrays: dict[str, Any] = {"name": np.array(name), "threads": np.array(threads)} | arrays
        np.savez(job, **job_arrays)
        path = os.pathsep.join([str(TOOLS), os.environ.get("PYTHONPATH", "")])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.jax_worker", str(job)],
            env=os.environ | {"PYTHONPATH": path, "JAX_PLATFORMS": "cpu"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __del__(self) -> None:
        self._process.kill()
        self._process.wait()

    def read(self) -> list[float]:
        """The numbers of its next line."""
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("JAX's process has ended; what it said stands above")
        return [float(word) for word in line.split()]

    def sample(self) -> float:
        """Seconds of a call."""
        assert self._process.stdin
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return self.read()[0]


def has_jax() -> bool:
    """Whether JAX is installed; without it the rows have one peer less."""
    found = importlib.util.find_spec("jax") is not None
    if not found:
        print("bench: JAX is not installed, so static programs are not compared with it", file=sys.stderr)
    return found


def _arrays(fw: Framework, model_file: ModuleType) -> dict[str, np.ndarray]:
    """What a JAX process starts from: parameters, running statistics, the batch."""
    model = fw.load(model_file.build(fw))
    x, y = model_file.batch(fw)
    arrays = {f"param/{name}": fw.numpy(p) for name, p in model.named_parameters()}
    arrays |= {f"state/{name}": fw.numpy(b) for name, b in model.named_buffers() if "running" in name}
    return arrays | {"x": fw.numpy(x), "y": fw.numpy(y)}


def compiled_step(fw: Framework, model_file: ModuleType, layout: str | None) -> Callable[[], Any]:
    """A step of torch whose loss, forward and backward, is compiled; the fused optimizer is one kernel already."""
    fw.module.compiler.reset()  # kernels are made for the present number of threads

    return training_step(fw, model_file, layout, wrap_loss=fw.module.compile)


def _steps(model_file: ModuleType, layout: str | None) -> Callable[[Context], Sequence[Contender]]:
    def build(context: Context) -> Sequence[Contender]:
        ours_fw, torch_fw = context.sides[OURS], context.sides[TORCH]
        losses: dict[str, list[float]] = {}

        def contender(name: str, step: Callable[[], Any]) -> Contender:
            losses[name] = [float(step().detach()) for _ in range(CHECKED_STEPS)]
            return Contender(name, timed(step))

        ours = training_step(ours_fw, model_file, layout, static=True)
        contenders = [
            contender(OURS, ours),
            contender(TORCH, training_step(torch_fw, model_file, layout)),
            contender(COMPILED, compiled_step(torch_fw, model_file, layout)),
        ]
        if has_jax():
            name = model_file.__name__.rpartition(".")[2]
            process = JaxProcess(name, context.threads, _arrays(torch_fw, model_file))
            losses[JAX] = process.read()
            contenders.append(Contender(JAX, process.sample))
        for values in losses.values():
            check_same(ours_fw, losses[OURS], torch_fw, values, 1e-3)
        return contenders

    return build


def _pointwise(fw: Framework, compile: Callable[[Callable], Callable] | None = None) -> Callable[[], Any]:
    """`layer_norm(gelu(x * w + b))` and its gradient."""
    arrays = _pointwise_arrays()
    upstream = fw.tensor(arrays["upstream"])
    inputs = [fw.tensor(arrays[name], requires_grad=True) for name in ("x", "w", "b", "scale", "shift")]

    def function(x: Any, w: Any, b: Any, scale: Any, shift: Any) -> Any:
        return fw.F.layer_norm(fw.F.gelu(x * w + b), (WIDTH,), scale, shift)

    forward = compile(function) if compile else function

    def call() -> Any:
        for tensor in inputs:
            tensor.grad = None
        y = forward(*inputs)
        y.backward(upstream)
        return y, *(tensor.grad for tensor in inputs)

    return call


def _pointwise_arrays() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    shapes: dict[str, tuple[int, ...]] = {"x": (ROWS_COUNT, WIDTH), "upstream": (ROWS_COUNT, WIDTH)}
    shapes |= dict.fromkeys(("w", "b", "scale", "shift"), (WIDTH,))
    return {name: rng.standard_normal(shape, dtype=np.float32) for name, shape in shapes.items()}


def _pointwise_contenders(context: Context) -> Sequence[Contender]:
    ours_fw, torch_fw = context.sides[OURS], context.sides[TORCH]
    torch_fw.module.compiler.reset()
    calls = {
        OURS: _pointwise(ours_fw, ours_fw.module.jit),
        TORCH: _pointwise(torch_fw),
        COMPILED: _pointwise(torch_fw, torch_fw.module.compile),
    }
    expected = calls[TORCH]()
    for name in (OURS, COMPILED):
        check_same(context.sides[OURS if name == OURS else TORCH], calls[name](), torch_fw, expected, 1e-3)
    contenders = [Contender(name, timed(call)) for name, call in calls.items()]
    if has_jax():
        contenders.append(Contender(JAX, JaxProcess("pointwise", context.threads, _pointwise_arrays()).sample))
    return contenders


def _row(name: str, target: float, model_file: ModuleType, layout: str | None = None) -> Row:
    return Row(
        f"static program: {name}",
        target,
        _steps(model_file, layout),
        floor=lambda machine: machine.flops(model_file.FLOPS),
        floor_text="its products and convolutions at BLAS's speed",
    )


ROWS = [
    _row("MLP step", 0.8, mlp),
    _row("GPT step", 0.8, gpt),
    _row("ResNet-18 step", 0.75, resnet, "channels_last"),
    # Forward reads x and writes y; backward reads the upstream gradient, x and writes the gradient.
    Row(
        f"static program: layer_norm(gelu(x * w + b)), {ROWS_COUNT}x{WIDTH}",
        0.4,
        _pointwise_contenders,
        floor=lambda machine: machine.passes(5),
        floor_text="5 passes over memory",
    ),
]
