"""Prints the peak resident memory of GPT steps in this process, in bytes: `python -m bench.peak_memory thalweg 2 4`.
A further argument, `static`, compiles the step.

The peak is the kernel's high-water mark of this address space (VmHWM); getrusage's ru_maxrss would begin with the
size of the parent process.
"""

import gc
import json
import sys
from pathlib import Path


def _status(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return 1024 * int(line.split()[1])
    raise OSError(f"peak_memory: /proc/self/status has no {field}")


def main(name: str, threads: int, steps: int, static: bool) -> None:
    """Runs the steps and prints {"peak": ..., "above_import": ..., "above_state": ...}.

    The last is what the peak takes beyond import, weights and the two moments of each weight.
    """
    from bench.frameworks import Framework  # noqa: PLC0415 - imports are part of what is measured
    from bench.models import gpt  # noqa: PLC0415
    from bench.steps import training_step  # noqa: PLC0415

    fw = Framework(name)
    fw.set_threads(threads)
    fw.nn, fw.module.optim  # noqa: B018 - packages that load when first used belong to the import
    gc.collect()
    imported = _status("VmRSS")
    step = training_step(fw, gpt, static=static)
    for _ in range(steps):
        step()
    peak = _status("VmHWM")
    state = 3 * 4 * sum(weight.numel() for weight in gpt.build(fw).parameters())
    above = {"above_import": peak - imported, "above_state": peak - imported - state}
    print(json.dumps({"peak": peak, **above}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), "static" in sys.argv[4:])
