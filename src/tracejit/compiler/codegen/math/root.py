"""The reciprocal square root, by refining what AVX-512 estimates."""

from __future__ import annotations

from ...ir_text import Value
from . import avx512
from .definition import vector_function
from .writer import Builder


@vector_function
def rsqrt(b: Builder, x: Value) -> Value:
    """``1 / sqrt(x)`` to 1.5 ULP; infinity of 0, 0 of infinity, NaN of negative numbers.

    With ``e = 1 - x * y * y`` an estimate `y` is off by a factor of ``sqrt(1 - e)``, and Newton's step doubles the bits
    that are right, of which there are 14. Of 0 and infinity `e` is NaN, and the estimates are exact.
    """
    if not avx512.available(b):
        return b.div(1.0, b.sqrt(x))
    estimate = y = avx512.reciprocal_root(b, x)
    for _ in range(2 if b.is_double else 1):
        e = b.fma(b.neg(b.mul(x, y)), y, 1.0)
        y = b.fma(b.mul(y, 0.5), e, y)
    return b.select(b.compare("uno", y, y), estimate, y)
