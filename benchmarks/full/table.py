"""What is measured and what is promised, part by part.

A promise such as ``{"JAX": 30.0}`` reads: JAX takes at least 30 times as long. Modules that are not there are left out.
"""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.full.rows import Row, exists
from benchmarks.linear_algebra import BATCHED, KINDS, POINTS, PROCESS, SIZES, name

BY_HAND = "C|numba|SciPy"
FRAMEWORKS = "JAX|torch|torch.compile|TF XLA|TF"
TORCH = "torch|torch.compile"
LINEAR = "linear_algebra"
SINGLE = 1e-3  # how far results of many float32 operations may be apart

_CALLS = (
    Row("calls", "CALL", "ns", 1e-15, limit=120, goals={"JAX": 30, "numba": 3}),
    Row("calls", "GRADIENT", "ns", 1e-14, limit=300, goals={"JAX": 30, "numba": 3}),
    Row("calls", "DICT", "ns", 1e-15, limit=600, goals={"JAX": 30, "numba": 3}),
    Row("calls", "SGD", "ns", 1e-12, limit=1000),
    Row("calls", "EAGER", "µs", 1e-14, limit=3),
    Row("calls", "CHAIN", "µs", 1e-14, limit=1, per=30),
)
_LINEAR = (
    *(
        Row(
            LINEAR,
            name(PROCESS, n),
            n=n,
            goals={"SciPy": 1 / 1.2, "JAX": 1.5},
            quick=n <= 500,
            tolerance=1e-7,
        )
        for n in POINTS
    ),
    *(
        Row(LINEAR, name(kind, n), "µs", n=n, goals={"SciPy": 0.95}, quick=n <= 32)
        for kind in KINDS
        for n in SIZES
    ),
    *(Row(LINEAR, f"{kind}, {BATCHED}", "µs", goals={"SciPy": 3}) for kind in KINDS if kind != "QR"),
)
_SCHEDULES = (
    Row("schedules", "NBODY", goals={BY_HAND: 1 / 1.3, "TF XLA": 8}),
    Row("schedules", "BUNDLE", goals={BY_HAND: 1 / 1.15}),
    Row("schedules", "ROSENBROCK", goals={BY_HAND: 1 / 1.15}),
    Row("schedules", "LOGISTIC", goals={BY_HAND: 1 / 1.15}),
    Row("schedules", "TORUS", goals={BY_HAND: 1 / 1.15}, threads=True, speedup=1.7),
)
_THREADS = (
    Row("elementwise", "BLACK_SCHOLES", tolerance=1e-13, threads=True, speedup=1.7),
    Row("elementwise", "SOFTMAX32", tolerance=1e-6, threads=True, speedup=1.7),
    Row("products", "SINGLE", tolerance=1e-5, threads=True, speedup=1.7),
    Row("products", "DOUBLE", tolerance=1e-12, threads=True, speedup=1.7),
    Row("networks", "MLP", tolerance=SINGLE, threads=True, speedup=1.7),
)
_NETWORKS = (
    Row("networks", "CNN", tolerance=SINGLE, threads=True, speedup=1.7, goals={"TF|TF XLA": 1, TORCH: 1}),
    Row("networks", "BLOCK", tolerance=SINGLE, threads=True, goals={FRAMEWORKS: 1.2}),
    Row("lstm", "LSTM, gradient, batch 1, hidden 64, float32", tolerance=SINGLE, goals={FRAMEWORKS: 1}),
    Row("lstm", "LSTM, gradient, batch 16, hidden 64, float32", tolerance=SINGLE, goals={FRAMEWORKS: 1}),
)
PARTS: Mapping[str, tuple[Row, ...]] = {
    "Calls": _CALLS,
    "Dense linear algebra": _LINEAR,
    "Schedules": _SCHEDULES,
    "Threads": _THREADS,
    "Networks": _NETWORKS,
}
#: Of `benchmarks.programs`: the milliseconds of the first call in a process that has the compiler loaded.
FIRST_CALLS: Mapping[str, float] = {"GREEKS": 60, "MLP": 120, "BLOCK": 250, "NESTED": 800}
#: The milliseconds from starting a process to the first result, compiled code on disk.
WARM_PROCESS = 160.0


def rows() -> list[Row]:
    """Return the rows of all parts whose modules are there."""
    return [row for part in PARTS.values() for row in part if exists(row.module)]


def part_of(row: Row) -> str:
    """Return the name of a row's part."""
    return next(name for name, part in PARTS.items() if row in part)
