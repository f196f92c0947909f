"""Writes the files of a new op: `new_op.py activation swish`. They build; check_ops fails until they are filled in.

Written are cpp/ops/FAMILY/NAME.cc (the definition), NAME_cpu.cc (its kernel) and tests/ops/FAMILY/test_NAME.py. No list
is edited anywhere: the build and the tests find files by their names.
"""

import re
import sys
from pathlib import Path

DEFINITION = """\
// NAME: the formula, shapes, dtypes and the source stand here.
#include "ir/registry.h"

namespace tw::ops {

// To be complete the op needs .doc, .grad (or .no_grad with the reason), .sbp and .cost.
void define_NAME(ir::OpRegistry& r) {
  r.op("NAME(Tensor input) -> Tensor").infer(ir::infer_same).expose(ir::kFunction);
}

}  // namespace tw::ops
"""

KERNEL = """\
// NAME on the CPU. Bytes read and written, and the floor they set, stand here.
#include "base/error.h"
#include "device/kernel.h"

namespace tw::ops {

namespace {

void NAME_kernel(device::KernelContext& c) { TW_FAIL(kInternal, c.op, ": its kernel is not written"); }

}  // namespace

void kernels_NAME(device::KernelTable& table) { table.add("NAME", NAME_kernel); }

}  // namespace tw::ops
"""

TEST = '''\
"""NAME against NumPy."""

import numpy as np

import thalweg as tw


def reference(x: np.ndarray) -> np.ndarray:
    raise NotImplementedError("NAME: write its formula in NumPy")


def test_matches_numpy():
    x = np.linspace(-3.0, 3.0, 24, dtype=np.float32).reshape(4, 6)
    np.testing.assert_allclose(tw.NAME(tw.from_numpy(x)).numpy(), reference(x), rtol=1e-5, atol=1e-6)
'''


def files(family: str, name: str) -> dict[str, str]:
    """Place and text of every file of the op."""
    texts = {
        f"cpp/ops/{family}/{name}.cc": DEFINITION,
        f"cpp/ops/{family}/{name}_cpu.cc": KERNEL,
        f"tests/ops/{family}/test_{name}.py": TEST,
    }
    return {place: text.replace("NAME", name) for place, text in texts.items()}


def write(root: Path, family: str, name: str) -> list[str]:
    """Writes the files and returns their places; ValueError for a bad name, FileExistsError for a stem in use."""
    for word in (family, name):
        if not re.fullmatch(r"[a-z][a-z0-9_]*", word) or word.endswith(("_cpu", "_test")):
            raise ValueError(f"new_op: wanted a name in snake_case without _cpu or _test at its end, got {word}")
    if taken := list((root / "cpp" / "ops").glob(f"*/{name}.cc")):
        raise FileExistsError(f"new_op: {taken[0].relative_to(root)} is there already; stems are unique")
    for place, text in files(family, name).items():
        path = root / place
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    return list(files(family, name))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: new_op.py FAMILY NAME")
    try:
        print("\n".join(write(Path(__file__).resolve().parent.parent, sys.argv[1], sys.argv[2])))
    except (ValueError, FileExistsError) as error:
        sys.exit(str(error))
