"""tanh, sinh and cosh, computed on ``|x|`` from the pieces of exp and given their sign at the end."""

from __future__ import annotations

from ...ir_text import Value
from .definition import vector_function
from .exponential import of_reduced, quarter_expm1, reduce, scale, shift
from .writer import Builder


@vector_function
def tanh(b: Builder, x: Value) -> Value:
    """``u / (u + 2)`` with ``u = expm1(2|x|)``."""
    a = b.minimum(b.abs(x), 22.0 if b.is_double else 10.0)
    u = quarter_expm1(b, b.mul(a, 2.0))
    y = b.div(u, b.add(u, 0.5))
    y = b.select(b.compare("olt", a, 2.0**-28 if b.is_double else 2.0**-13), a, y)
    return b.copysign(y, x)


@vector_function
def sinh(b: Builder, x: Value) -> Value:
    """``h + h / (2h + 1)`` with ``h = expm1(|x|) / 2``; the second term is 1/2 long before h overflows."""
    a = b.minimum(b.abs(x), 710.5 if b.is_double else 89.5)
    h = b.mul(quarter_expm1(b, a), 2.0)
    second = b.div(h, b.fma(h, 2.0, 1.0))
    y = b.add(h, b.select(b.compare("ogt", h, 2.0**60), 0.5, second))
    y = b.select(b.compare("olt", a, 2.0**-27 if b.is_double else 2.0**-13), a, y)
    return b.copysign(y, x)


@vector_function
def cosh(b: Builder, x: Value) -> Value:
    """``e + 1 / (4e)`` with ``e = exp(|x|) / 2``."""
    a = b.minimum(b.abs(x), 711.0 if b.is_double else 90.0)
    n, r = reduce(b, a)
    e = scale(b, of_reduced(b, r), shift(b, n, -1))
    return b.add(e, b.div(0.25, e))
