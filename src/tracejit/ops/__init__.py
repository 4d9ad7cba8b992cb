"""The operations: one declaration each, one file per family."""

from . import arithmetic, compare, control, index, linalg, random, reduce, shape, transcendental

__all__ = [
    "arithmetic", "compare", "control", "index", "linalg", "random", "reduce", "shape", "transcendental",
]
