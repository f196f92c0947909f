"""OpenBLAS through its C interface, with nothing between: what matrix products are held against."""

import ctypes
import functools
import os
import shutil
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import numpy as np

from bench.measure import timed

ROW_MAJOR, NO_TRANSPOSE, TRANSPOSE = 101, 111, 112


class Blas:
    """Private copies of the library that thalweg uses, one for each number of threads.

    The number is given when a copy is loaded: openblas_set_num_threads of a second copy in the process changes the
    first one's.
    """

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="bench_blas")
        self._sgemms: dict[int, Any] = {}
        self._pool = ThreadPoolExecutor(max_workers=64)

    def _sgemm(self, threads: int) -> Any:
        if threads in self._sgemms:
            return self._sgemms[threads]
        import scipy_openblas32  # noqa: PLC0415 - only this benchmark needs it

        source = Path(scipy_openblas32.get_lib_dir()) / "libscipy_openblas.so"
        copy = shutil.copy(source, Path(self._folder.name) / f"libscipy_openblas_{threads}.so")
        before = os.environ.get("OPENBLAS_NUM_THREADS")
        os.environ["OPENBLAS_NUM_THREADS"] = str(threads)
        try:
            sgemm = ctypes.CDLL(str(copy)).scipy_cblas_sgemm
        finally:
            del os.environ["OPENBLAS_NUM_THREADS"]
            if before is not None:
                os.environ["OPENBLAS_NUM_THREADS"] = before
        i, f, p = ctypes.c_int, ctypes.c_float, ctypes.c_void_p
        sgemm.argtypes = [i, i, i, i, i, i, f, p, i, p, i, f, p, i]
        sgemm.restype = None
        self._sgemms[threads] = sgemm
        return sgemm

    def _product(self, a: np.ndarray, b: np.ndarray, c: np.ndarray, threads: int) -> Callable[[], None]:
        """sgemm for c = a @ b; a and b may be transposed views."""
        (m, k), n = a.shape, b.shape[1]
        (at, lda), (bt, ldb) = _layout(a), _layout(b)
        pointers = [x.ctypes.data_as(ctypes.c_void_p) for x in (a, b, c)]  # each keeps its array alive
        arguments = (ROW_MAJOR, at, bt, m, n, k, 1.0, pointers[0], lda, pointers[1], ldb, 0.0, pointers[2])
        return functools.partial(self._sgemm(threads), *arguments, c.strides[0] // c.itemsize)

    def own_threads(self, a: np.ndarray, b: np.ndarray, c: np.ndarray, threads: int) -> Callable[[], None]:
        """c = a @ b, split by OpenBLAS itself."""
        return self._product(a, b, c, threads)

    def split(self, a: np.ndarray, b: np.ndarray, c: np.ndarray, threads: int) -> Callable[[], None]:
        """c = a @ b as one single-threaded product a thread, the longer side of c cut at multiples of 16."""
        by_rows = c.shape[0] >= c.shape[1]
        side = c.shape[0] if by_rows else c.shape[1]
        cuts = [min(side, -(-side * i // threads // 16) * 16) for i in range(threads)] + [side]
        pieces = []
        for first, last in zip(cuts, cuts[1:], strict=False):
            if first < last:
                part = slice(first, last)
                operands = (a[part], b, c[part]) if by_rows else (a, b[:, part], c[:, part])
                pieces.append(self._product(*operands, 1))

        def call() -> None:
            others = [self._pool.submit(piece) for piece in pieces[1:]]
            pieces[0]()
            wait(others)

        return call

    def best_call(self, a: np.ndarray, b: np.ndarray, c: np.ndarray, threads: int) -> Callable[[], None]:
        """The faster of the two ways."""
        ways = [self.own_threads(a, b, c, threads)]
        if threads > 1:
            ways.append(self.split(a, b, c, threads))
        return min(ways, key=lambda way: min(timed(way)() for _ in range(3)))


def _layout(x: np.ndarray) -> tuple[int, int]:
    """(transposed or not, leading size) of a matrix whose rows or columns are dense."""
    if x.strides[1] == x.itemsize:
        return NO_TRANSPOSE, x.strides[0] // x.itemsize
    return TRANSPOSE, x.strides[1] // x.itemsize
