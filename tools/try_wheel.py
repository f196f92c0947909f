"""Tries an installed thalweg: run by `make wheel` in an environment that holds the wheel and its dependencies alone.

--cuda: thalweg-cuda beside it, as `make cuda-wheel` does.
"""

import sys
from pathlib import Path

import check_cuda_library
import thalweg as tw


def try_cuda() -> int:
    """The backend is where thalweg looks for it, and finds NVIDIA's libraries in this environment."""
    library = check_cuda_library.where_thalweg_looks()
    problems = check_cuda_library.check(library) if library.exists() else [f"is not in {library.parent}"]
    outside = [
        line.split()[-1]
        for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
        if any(name in line for name in check_cuda_library.LINKED) and not line.split()[-1].startswith(sys.prefix)
    ]
    problems += [f"links {path}, which is not in this environment" for path in sorted(set(outside))]
    why = tw.cuda.why_unavailable()
    if not tw.cuda.is_available() and "driver" not in why:
        problems.append(f"cannot be used: {why}")
    for problem in problems:
        print(f"try_wheel: {library.name} {problem}")
    if not problems:
        print(f"try_wheel: {library.name} is found; {why or 'there is a GPU'}")
    return 1 if problems else 0


def main() -> int:
    if Path(sys.prefix).resolve() not in Path(tw.__file__).resolve().parents:
        print(f"try_wheel: thalweg is imported from {tw.__file__}, which is not this environment")
        return 1
    # OpenBLAS (matmul), oneDNN (conv2d), TBB (a sum long enough to be split) and the tape.
    x = tw.ones(64, 3, 8, 8, requires_grad=True)
    w = tw.ones(4, 3, 3, 3, requires_grad=True)
    features = tw.nn.functional.conv2d(x, w, padding=1).flatten(1)
    loss = (features @ tw.ones(256, 10)).sum()
    loss.backward()
    inside = 4 * (6 * 6 * 27 + 4 * 6 * 18 + 4 * 12)  # of one image: pixels by the size of their windows
    wanted = 64.0 * 10 * inside
    if loss.item() != wanted or tw.ones(1 << 20).sum().item() != 1 << 20 or x.grad.shape != x.shape:
        print(f"try_wheel: wanted a loss of {wanted}, got {loss.item()}")
        return 1
    print(f"try_wheel: thalweg {tw.__version__} works in {sys.prefix}")
    return try_cuda() if "--cuda" in sys.argv[1:] else 0


if __name__ == "__main__":
    sys.exit(main())
