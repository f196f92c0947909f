"""Checks the length of files: median at most 150 lines, 90 % under 400, none above 800. Exits 1 with the reasons.

With `--wheel FILE...` it checks the size of wheels instead: at most 30 MB each.
"""

import statistics
import sys
from pathlib import Path

FOLDERS = {
    "cpp": ("*.cc", "*.h"),
    "cuda": ("*.cu", "*.cc", "*.h"),
    "python": ("*.py", "*.pyx", "*.pxd", "*.pxi", "*.cc", "*.h"),
}
FOLDERS |= {"tests": ("*.py", "*.cc", "*.h"), "tools": ("*.py",), "examples": ("*.py",)}
MEDIAN, MOST, MOST_SHARE, LONGEST = 150, 400, 0.9, 800
CMAKE_LONGEST = 60  # a folder's CMakeLists.txt fits a screen
WHEEL_MB = 30


def count_lines(root: Path) -> dict[str, int]:
    """Lines of every source file that people write, by place."""
    paths = [path for top, patterns in FOLDERS.items() for pattern in patterns for path in (root / top).rglob(pattern)]
    return {path.relative_to(root).as_posix(): len(path.read_text(encoding="utf-8").splitlines()) for path in paths}


def check_sources(lines: dict[str, int]) -> list[str]:
    problems = [f"{place}: {count} lines, at most {LONGEST}" for place, count in lines.items() if count > LONGEST]
    counts = sorted(lines.values())
    if not counts:
        return ["no source files were found"]
    if (median := statistics.median(counts)) > MEDIAN:
        problems.append(f"the median file has {median:.0f} lines, at most {MEDIAN}")
    long = sorted(((count, place) for place, count in lines.items() if count >= MOST), reverse=True)
    if len(long) > (1 - MOST_SHARE) * len(counts):
        worst = ", ".join(f"{place} ({count})" for count, place in long[:8])
        problems.append(f"{len(long)} of {len(counts)} files have {MOST} lines or more, at most 10 %: {worst}")
    return problems


def check_cmake(root: Path) -> list[str]:
    problems = []
    for path in [
        *(root / "cpp").rglob("CMakeLists.txt"),
        *(root / "python").rglob("CMakeLists.txt"),
        *(root / "cuda").rglob("CMakeLists.txt"),
    ]:
        count = len(path.read_text(encoding="utf-8").splitlines())
        if count > CMAKE_LONGEST:
            problems.append(f"{path.relative_to(root)}: {count} lines, at most {CMAKE_LONGEST}")
    return problems


def check_wheels(names: list[str]) -> list[str]:
    sizes = {name: Path(name).stat().st_size / 1e6 for name in names}
    return [f"{name}: {size:.1f} MB, at most {WHEEL_MB}" for name, size in sizes.items() if size > WHEEL_MB]


def main(root: Path, arguments: list[str]) -> int:
    if arguments[:1] == ["--wheel"]:
        problems = check_wheels(arguments[1:])
    else:
        lines = count_lines(root)
        problems = check_sources(lines) + check_cmake(root)
        if not problems:
            median = statistics.median(lines.values())
            print(f"length: {len(lines)} files, {sum(lines.values())} lines, median {median:.0f}")
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(Path(__file__).resolve().parent.parent, sys.argv[1:]))
