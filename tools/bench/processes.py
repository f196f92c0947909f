"""What needs a process of its own: the time of an import, the peak memory of the GPT step."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.frameworks import OURS, TORCH, NotOffered
from bench.measure import Contender
from bench.rows import Context, Row

TOOLS = Path(__file__).resolve().parents[1]
MEMORY_STEPS = 4
IMPORT = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"


def _run(arguments: Sequence[str], name: str) -> str:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(TOOLS), os.environ.get("PYTHONPATH", "")])}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode, whatever is set here
    done = subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return done.stdout
    reason = done.stderr.strip().splitlines()[-1]
    if name == OURS and ("AttributeError" in reason or "NotImplementedError" in reason):
        raise NotOffered(reason)
    raise RuntimeError(f"{' '.join(arguments)}: {done.stderr}")


def _import_time(name: str) -> Callable[[], float]:
    return lambda: float(_run(["-c", IMPORT.format(name)], name))


def imports(context: Context) -> Sequence[Contender]:
    """Seconds of the import statement, after one import has filled the caches."""
    contenders = [Contender(name, _import_time(name)) for name in (OURS, TORCH)]
    for contender in contenders:
        contender.sample()
    return contenders


def _memory(name: str, key: str, threads: int, static: bool) -> Callable[[], float]:
    def sample() -> float:
        form = ["static"] if static and name == OURS else []
        output = _run(["-m", "bench.peak_memory", name, str(threads), str(MEMORY_STEPS), *form], name)
        return float(json.loads(output)[key])

    return sample


def _memory_row(key: str, static: bool = False) -> Callable[[Context], Sequence[Contender]]:
    def build(context: Context) -> Sequence[Contender]:
        contenders = [Contender(name, _memory(name, key, context.threads, static)) for name in (OURS, TORCH)]
        contenders[0].sample()  # raises NotOffered where a name is missing
        return contenders

    return build


ROWS = [
    Row("peak memory of the GPT step", 0.65, _memory_row("peak"), unit="B", per_thread=False, rounds=3),
    Row(
        "peak memory of the GPT step, above that of the import",
        0.65,
        _memory_row("above_import"),
        unit="B",
        per_thread=False,
        rounds=3,
    ),
    Row(
        "static program: peak memory of the GPT step, beyond import, weights and optimizer state",
        0.6,
        _memory_row("above_state", static=True),
        unit="B",
        per_thread=False,
        rounds=3,
    ),
    Row("import", 0.1, imports, per_thread=False),
]
