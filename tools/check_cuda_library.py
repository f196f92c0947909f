"""Whether libthalweg_cuda is whole, and says on a machine without a driver that it has none.

    python tools/check_cuda_library.py build/nvcc/python/thalweg/_core/libthalweg_cuda.so

What it links must be found, and none of its symbols be left open. It must not link libcuda, which comes with a driver,
nor what thalweg's own wheel brings under another name. Then thalweg, which must be of the same sources, loads it.
"""

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from thalweg import cuda
from thalweg._core import _native

# The libraries that it may link; cuDNN and NCCL are loaded when they are first used.
LINKED = {"libthalweg.so", "libcudart.so.13", "libcublasLt.so.13"}
SYSTEM = re.compile(r"(libstdc\+\+|libgcc_s|libc|libm|libdl|libpthread|librt|ld-linux-x86-64)\.so\.\d+")
NO_DRIVER = "the NVIDIA driver is missing or too old for CUDA 13.0"
WITH_DRIVER = {"", NO_DRIVER, "the NVIDIA driver finds no GPU"}


def where_thalweg_looks() -> Path:
    """The place of the library that thalweg uses."""
    return Path(_native.__file__).parent / cuda._LIBRARY


def output_of(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def wrong_links(dynamic_section: str) -> list[str]:
    """What `readelf --dynamic` says that should not be."""
    needed = re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic_section)
    others = [name for name in needed if name not in LINKED and not SYSTEM.fullmatch(name)]
    missing = LINKED - set(needed)
    return [f"links {name}" for name in others] + [f"does not link {name}" for name in sorted(missing)]


def left_open(relocations: str) -> list[str]:
    """What `ldd -r` does not find."""
    return [line.strip() for line in relocations.splitlines() if "not found" in line or "undefined symbol" in line]


def check(library: Path) -> list[str]:
    """What is wrong with the library."""
    done = subprocess.run(["ldd", "-r", str(library)], capture_output=True, text=True, check=False)
    problems = wrong_links(output_of("readelf", "--dynamic", "--wide", str(library)))
    problems += left_open(done.stdout + done.stderr)
    said = _native.load_accelerator(str(library))
    if said not in (WITH_DRIVER if _native.has_cuda_driver() else {NO_DRIVER}):
        problems.append(f"when it is loaded: {said}")
    return problems


def main(arguments: Sequence[str]) -> int:
    library = Path(arguments[0]).resolve()
    problems = check(library)
    for problem in problems:
        print(f"check_cuda_library: {library.name} {problem}")
    if not problems:
        print(f"check_cuda_library: {library} ({library.stat().st_size / 2**20:.1f} MiB) is whole")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
