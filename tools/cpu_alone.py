"""The ops that have a kernel for the CPU and none for CUDA, and why. `check_ops.py` holds the list against both."""

# Users get an error that names the op and says to move its operands.
ON_THE_CPU_ALONE: dict[str, str] = {
    "linalg_eig": "LAPACK's iteration for matrices that are not symmetric: a chain of steps too short for a GPU",
    "linalg_eigvals": "as linalg_eig",
    "by_rows": "passes make it, for programs of the CPU alone",
}
