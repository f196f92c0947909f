"""A process that runs units of work as they come, one JSON line each way, so that a crash or a hang is one unit's.

In: {"kind": "op" | "module" | "optimizer", "name": ..., "dtypes": [...], "checks": [...]} or {"kind": "list", ...}.
Out: {"result": ...} or {"error": ...}. The place where it stands goes into a small shared file that outlives a crash.
"""

import json
import mmap
import os
import sys
import traceback
import warnings

PLACE_BYTES = 512


def _protocol_stream():
    """The real stdout for answers; what anything else prints goes to stderr."""
    stream = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return stream


def _watch_place(path):
    from . import result

    with open(path, "r+b") as f:
        memory = mmap.mmap(f.fileno(), PLACE_BYTES)

    def at(name, dtype, check, index):
        text = f"{name} {dtype} {check} sample {index}".encode()[: PLACE_BYTES - 1]
        memory[: len(text) + 1] = text + b"\0"

    result.at = at


def serve(place):
    answers = _protocol_stream()
    warnings.simplefilter("ignore")
    try:
        import torch

        torch.set_num_threads(1)
        from . import suites

        _watch_place(place)
    except BaseException as e:
        print(json.dumps({"error": f"cannot start: {type(e).__name__}: {e}"}), file=answers, flush=True)
        traceback.print_exc()
        return
    print(json.dumps({"result": "ready"}), file=answers, flush=True)
    for line in sys.stdin:
        try:
            answer = json.dumps({"result": suites.run(json.loads(line))})
        except Exception as e:
            answer = json.dumps({"error": f"{type(e).__name__}: {e}", "trace": traceback.format_exc()})
        print(answer, file=answers, flush=True)


if __name__ == "__main__":
    serve(sys.argv[1])
