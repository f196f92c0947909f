"""Tries an installed thalweg: run by `make wheel` in an environment that holds the wheel and its dependencies alone."""

import sys
from pathlib import Path

import thalweg as tw


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
    return 0


if __name__ == "__main__":
    sys.exit(main())
