"""What the compiled CUDA kernels need, and whether they use what they are written for. Needs no GPU.

    python tools/check_cuda.py build/nvcc [--write | --strict]

Reads every object below the folder with cuobjdump (of the CUDA toolkit, or the wheel nvidia-cuda-cuobjdump with
nvidia-cuda-nvdisasm). A kernel that keeps data on its stack, as spilled registers are, a packed kernel without
128-bit accesses, a kernel on tiles without products on tensor cores, or a file that does not say what its kernels cost
(cuda_costs.py) is a line of output and exit status 1, unless it is listed here with its reason. A docs/cuda_kernels.md
that says something else is a line too, and with --strict the same; --write writes it.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import cuda_costs

ROOT = Path(__file__).resolve().parents[1]
# What streams memory in packs of 16 bytes: the number is the pack's, so that 1 is the kernel for everything else.
PACKED = re.compile(r"pointwise_kernelILi(?!1E)\d+E|(?:reduce_rows|fold_kernel|lookup_rows)I\w+?Li(?:2|4|8|16)E")
# What multiplies on tensor cores, and copies its tiles by 16 bytes.
TILED = re.compile(r"attention_\w+_tiles")
# What groups of warps multiply, of tiles that the processor copies by itself (wgmma and TMA).
GROUPED = re.compile(r"attention_\w+_groups")
# What may keep data on the stack of a thread, which lies in memory, and why: searched in "file: kernel".
MAY_STACK = {
    r"OfComplex|OnCircle|ComplexSum": "sin and cos of large doubles are reduced in an array",
    r"trigonometric\.cu|Digamma|Polygamma": "so are those of floats, and tan",
    r"layer_norm\.cu|group_norm\.cu": "a division of doubles is a call, around which a register is saved",
    r"avg_pool\.cu|any_all\.cu": "so is a division of whole numbers of 64 bits",
    r"clipping\.cu|embedding\.cu: \S+renorm_kernel": "so is a power of doubles",
    r"\d+Sqrt(Formula)?[EI]|cholesky\.cu": "so is a square root that is rounded right",
    r"logsumexp\.cu": "so is a logarithm of doubles",
    r"HeavisideFormula\w+JlE|RealAngleFormula\w+JsE": "ptxas saves a word, to need no more than 32 registers",
}
# Packed kernels that may have no 128-bit access, and why: searched in the same.
MAY_BE_NARROW = {
    r"ImaginaryPart|LargestReal": "of each complex number one half is read, and the compiler loads no more",
}

FUNCTION = re.compile(r"^\s*Function (\S+):\s*$", re.M)
USAGE = re.compile(r"REG:(\d+) STACK:(\d+) SHARED:(\d+) LOCAL:(\d+)")


@dataclass
class Kernel:
    """One instance of a kernel; bytes of a thread's stack and of a block's shared memory."""

    file: str
    name: str
    registers: int
    stack: int
    shared: int
    local: int


def listed(kernel: str, reasons: Mapping[str, str]) -> bool:
    """Whether a kernel, with its file, is one of those that have a reason."""
    return any(re.search(pattern, kernel) for pattern in reasons)


def find_tool(name: str) -> str | None:
    """cuobjdump of the PATH, the toolkit or the wheel."""
    wheel = Path(sysconfig.get_path("purelib")) / "nvidia/cu13/bin" / name
    for place in (os.environ.get(name.upper()), shutil.which(name), f"/usr/local/cuda/bin/{name}", str(wheel)):
        if place and Path(place).exists():
            return place
    return None


def run(tool: str, *arguments: str) -> str:
    path = os.pathsep.join([str(Path(tool).parent), os.environ.get("PATH", "")])
    done = subprocess.run(
        [tool, *arguments], capture_output=True, text=True, check=True, env={**os.environ, "PATH": path}
    )
    return done.stdout


def kernels_of(tool: str, object_file: Path) -> list[Kernel]:
    """The resource usage of every kernel of an object."""
    text = run(tool, "--dump-resource-usage", str(object_file))
    found = []
    for match in FUNCTION.finditer(text):
        if usage := USAGE.search(text, match.end()):
            found.append(Kernel(object_file.name.removesuffix(".o"), match[1], *map(int, usage.groups())))
    return found


def base_name(mangled: str) -> str:
    """The function's own name: the last part of the nested name that a mangled one begins with."""
    at, name = len("_ZN"), mangled
    while found := re.match(r"\d+", mangled[at:]):
        begin = at + found.end()
        at = begin + int(found[0])
        name = mangled[begin:at]
    return name


@dataclass
class Instructions:
    """How many of a kind a kernel has: accesses of global memory by 128 bits, products on tensor cores by warps and
    by groups of them, and copies of tiles."""

    wide_loads: int = 0
    wide_stores: int = 0
    products: int = 0
    group_products: int = 0
    tile_copies: int = 0


# What kernels of a kind must have.
WANTED = {
    TILED: ("wide_loads", "wide_stores", "products"),
    GROUPED: ("wide_stores", "group_products", "tile_copies"),
}


def instructions(tool: str, object_file: Path) -> dict[str, Instructions]:
    """What to count in the code of an object, by kernel."""
    text = run(tool, "--dump-sass", str(object_file))
    result = {}
    parts = re.split(r"^\s*Function : (\S+)\s*$", text, flags=re.M)
    for name, body in zip(parts[1::2], parts[2::2], strict=True):
        patterns = (
            r"LDG(?:STS)?\.E[.\w]*\.128",
            r"STG\.E[.\w]*\.128",
            r"HMMA\.16816\.F32",
            r"HGMMA\.64x\d+x16\.F32",
            r"UTMALDG\.4D",
        )
        result[name] = Instructions(*(len(re.findall(pattern, body)) for pattern in patterns))
    return result


def missing_instructions(file: str, code: dict[str, Instructions]) -> list[str]:
    """What the kernels of an object lack."""
    problems = []
    for name, counts in code.items():
        narrow = not counts.wide_loads + counts.wide_stores
        if narrow and PACKED.search(name) and not listed(f"{file}: {name}", MAY_BE_NARROW):
            problems.append(f"{file}: {name} has no 128-bit access")
        for kinds, wanted in WANTED.items():
            if kinds.search(name):
                missing = [kind for kind in wanted if not getattr(counts, kind)]
                problems += [f"{file}: {name} has no {kind.replace('_', ' ')}" for kind in missing]
    return problems


def check_object(tool: str, object_file: Path) -> tuple[list[Kernel], list[str]]:
    """The kernels of an object, and what is wrong with them."""
    kernels = kernels_of(tool, object_file)
    problems = []
    for kernel in kernels:
        if kernel.stack and not listed(label := f"{kernel.file}: {kernel.name}", MAY_STACK):
            problems.append(f"{label} has {kernel.stack} bytes of its data in memory")
    if any(kinds.search(kernel.name) for kernel in kernels for kinds in (PACKED, *WANTED)):
        problems += missing_instructions(object_file.name, instructions(tool, object_file))
    return kernels, problems


def summary(kernels: list[Kernel]) -> list[str]:
    """Lines of a table: a row a file and kernel, with the most that any instance takes."""
    rows: dict[tuple[str, str], list[Kernel]] = {}
    for kernel in kernels:
        rows.setdefault((kernel.file, base_name(kernel.name)), []).append(kernel)
    lines = [
        "| file | kernel | instances | registers | shared bytes | stack bytes |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for (file, name), group in sorted(rows.items()):
        most = [max(getattr(k, field) for k in group) for field in ("registers", "shared", "stack")]
        lines.append(f"| {file} | `{name}` | {len(group)} | {most[0]} | {most[1]} | {most[2]} |")
    return lines


def page(costs: list[cuda_costs.Cost], kernels: list[Kernel]) -> str:
    """docs/cuda_kernels.md."""
    return "\n".join(
        [
            "# The kernels of the CUDA backend",
            "",
            "Written by `make check-cuda CHECK_CUDA=--write`.",
            "",
            "## What an element costs",
            "",
            "Of one op of each file: bytes that pass the memory and instructions of arithmetic for an element, as the",
            "file states them, and the least time of 2^28 elements that follows for an H200: 0.9 of 4.8 TB/s, 33.5",
            "trillion instructions of float32 a second, 989 TFLOP/s on tensor cores; n is 64. Nothing of this was",
            "measured.",
            "",
            *cuda_costs.table(costs),
            "",
            "## What instances need",
            "",
            "By nvcc 13.0 for sm_90a: the most that any instance of a kernel takes. Dynamic shared memory is not",
            "counted.",
            "",
            *summary(kernels),
            "",
        ]
    )


def slowest(log: str, count: int = 5) -> str:
    """What took longest to compile, of .ninja_log."""
    spent: dict[str, float] = {}
    for line in log.splitlines()[1:]:
        start, end, _, output, _ = line.split("\t")
        if output.endswith(".cu.o"):
            spent[Path(output).name.removesuffix(".o")] = (int(end) - int(start)) / 1e3
    ordered = sorted(spent.items(), key=lambda item: -item[1])[:count]
    return f"nvcc took {sum(spent.values()):.0f} s: " + ", ".join(f"{name} {s:.0f} s" for name, s in ordered) + ", ..."


def compare(written: Path, wanted: str, write: bool) -> list[str]:
    """Writes the page, or says that it is another."""
    if write:
        written.write_text(wanted, encoding="utf-8")
    if written.exists() and written.read_text(encoding="utf-8") == wanted:
        return []
    return [f"{written.relative_to(ROOT)} is out of date: make check-cuda CHECK_CUDA=--write"]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--write", action="store_true", help="write docs/cuda_kernels.md")
    parser.add_argument("--strict", action="store_true", help="fail when docs/cuda_kernels.md is out of date")
    options = parser.parse_args()
    tool = find_tool("cuobjdump")
    if tool is None:
        sys.exit("check_cuda: there is no cuobjdump (pip install nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm)")
    objects = sorted(options.folder.rglob("*.cu.o"))
    if not objects:
        sys.exit(f"check_cuda: {options.folder} has no compiled kernels; build the target cuda_kernels first")
    stated, problems = cuda_costs.costs(ROOT)
    kernels: list[Kernel] = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # disassembling is other processes' work
        for found, wrong in pool.map(lambda file: check_object(tool, file), objects):
            kernels += found
            problems += wrong
    other_page = compare(ROOT / "docs/cuda_kernels.md", page(stated, kernels), options.write)
    if options.strict:
        problems += other_page
    elif other_page:
        print(f"check_cuda: {other_page[0]}")
    if (log := options.folder / ".ninja_log").exists():
        print(f"check_cuda: {slowest(log.read_text(encoding='utf-8'))}")
    print(
        "\n".join(problems)
        or f"check_cuda: {len(kernels)} kernels, nothing spilled, 128-bit accesses and tensor cores where they belong"
    )
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
