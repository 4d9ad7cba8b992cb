"""The matrix product kernel beside NumPy's: the products of dense layers and of their gradients, and the
usual squares.

The kernel is called as compiled programs call it, from machine code: the time of an empty call by ctypes is
subtracted. NumPy's time includes what a call of ``np.matmul(a, b, out=c)`` costs from Python. Letters say
how each operand lies in memory: n as written, t transposed. Medians over several allocations, because the
place of an array in the caches matters as much as the code.
"""

from __future__ import annotations

import argparse
import ctypes
import statistics
import sys
from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks import timing
from tracejit.compiler.codegen import parts
from tracejit.compiler.codegen.machines import Unit
from tracejit.compiler.codegen.matmul import kernel_text, symbol, workspace_bytes
from tracejit.runtime import cpu, objects

LAYERS = (
    "nn128x64x256 tn64x128x256 nt128x256x64 nn128x256x10 tn256x128x10 nt128x10x256 nn256x128x10 nn128x10x256 "
    "nn32x784x128 tn784x32x128"
)
SMALL = "nn4x4x4 nn8x8x8 nn16x16x16 nn33x33x33 nn64x64x64 nn100x100x100"
VECTORS = "nn1x256x256 nt1x256x256 nn256x256x1 tn256x256x1 nn1x1024x1024 nn1024x1024x1"
LARGE = "nn256x256x256 nt256x256x256 tn256x256x256 nn512x512x512 nn1024x1024x1024"
ALLOCATIONS = 5

Gemm = Callable[..., None]


def gemm(dtype: str) -> Gemm:
    """Return the compiled kernel, for the registers of this machine."""
    machine = cpu.host()
    name = symbol(dtype, machine.vector_bytes)
    text = kernel_text(dtype, register_bytes=machine.vector_bytes, fma=machine.has_fma)
    address = objects.load(parts.compiled(Unit(text, ready=True), name)).address(name)
    i, p = ctypes.c_int64, ctypes.c_void_p
    return ctypes.CFUNCTYPE(None, i, i, i, p, i, i, p, i, i, p, i, i, p, p)(address)


def operand(generator: np.random.Generator, rows: int, columns: int, dtype: str, letter: str) -> np.ndarray:
    """Return a random matrix, or a transposed view of one."""
    shape = (rows, columns) if letter == "n" else (columns, rows)
    values = generator.standard_normal(shape).astype(dtype)
    return values if letter == "n" else values.T


def bound(kernel: Gemm, a: np.ndarray, b: np.ndarray, out: np.ndarray, work: np.ndarray, rows: int) -> Gemm:
    """Return a call without arguments; `rows` may be 0 to measure the call alone."""
    size = a.itemsize
    i, p = ctypes.c_int64, ctypes.c_void_p
    strides = [[i(step // size) for step in x.strides] for x in (a, b, out)]
    sizes = i(rows), i(b.shape[1]), i(a.shape[1])
    scratch = p(work.ctypes.data + -work.ctypes.data % 64)
    pointers = [p(x.ctypes.data) for x in (a, b, out)]
    left, right = (pointers[0], *strides[0]), (pointers[1], *strides[1])
    return partial(kernel, *sizes, *left, *right, pointers[2], strides[2][0], i(0), scratch, None)


def measure(kernel: Gemm, dtype: str, name: str, seconds: float) -> tuple[float, float]:
    """Return the seconds of our kernel and of NumPy for a product such as ``nt128x256x64``."""
    letters, (m, k, n) = name[:2], map(int, name[2:].split("x"))
    generator = np.random.default_rng(0)
    work = np.empty(workspace_bytes(dtype) + 64, np.uint8)
    ours, theirs, kept = [], [], []
    for _ in range(ALLOCATIONS):
        kept.append(np.empty(generator.integers(1, 20000), np.uint8))
        a, b = operand(generator, m, k, dtype, letters[0]), operand(generator, k, n, dtype, letters[1])
        out, expected = np.empty((m, n), dtype), np.empty((m, n), dtype)
        kept += [a, b, out, expected]
        candidates = {
            "ours": bound(kernel, a, b, out, work, m),
            "empty": bound(kernel, a, b, out, work, 0),
            "numpy": partial(np.matmul, a, b, out=expected),
        }
        times = timing.measure(candidates, seconds / ALLOCATIONS)
        limit = 8 * np.finfo(dtype).eps * (np.abs(a) @ np.abs(b))
        if not (np.abs(out - expected) <= limit).all():
            raise ValueError(f"{dtype} {name}: results differ")
        ours.append(times["ours"].median - times["empty"].median)
        theirs.append(times["numpy"].median)
    return statistics.median(ours), statistics.median(theirs)


def main() -> int:
    """Measure the named products, or all but the largest."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "products", nargs="*", help="such as nt128x256x64; default: layers, small, vectors, large"
    )
    parser.add_argument("--seconds", type=float, default=0.5, help="for each product")
    options = parser.parse_args()
    for dtype in ("float32", "float64"):
        kernel = gemm(dtype)
        for name in options.products or " ".join((LAYERS, SMALL, VECTORS, LARGE)).split():
            ours, theirs = measure(kernel, dtype, name, options.seconds)
            m, k, n = map(int, name[2:].split("x"))
            rates = [2 * m * k * n / max(seconds, 1e-12) / 1e9 for seconds in (ours, theirs)]
            print(
                f"{dtype} {name:18} tracejit {ours * 1e6:10.2f} µs {rates[0]:6.1f} GF/s  "
                f"numpy {theirs * 1e6:9.2f} µs {rates[1]:6.1f} GF/s  ratio {theirs / max(ours, 1e-12):5.2f}",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
