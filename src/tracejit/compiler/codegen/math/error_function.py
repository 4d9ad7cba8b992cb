"""erf. Double precision expands around the nearest of 769 tabulated points, whose values are worked out here in
integers; single precision is a polynomial near zero and one in the exponent of erfc beyond.
"""

from __future__ import annotations

import math
import struct
from functools import cache

from ...ir_text import Value
from . import coefficients as table
from .definition import byte_table, vector_function
from .exponential import of_reduced, power_of_two, reduce
from .writer import Builder

_TABLE = "@tj_erf_table"
_STEPS = 128  # points from 0 to 1
_LAST = 768  # the point 6, from which erf rounds to 1
_PRECISION = 160  # bits behind the point of the integers that the table is made in


@vector_function
def erf(b: Builder, x: Value) -> Value:
    return _erf_double(b, x) if b.is_double else _erf_float(b, x)


def _erf_float(b: Builder, x: Value) -> Value:
    """An odd polynomial up to 0.9, then ``1 - exp(p(|x|))``."""
    a = b.abs(x)
    near = b.fma(a, b.polynomial(b.mul(a, a), table.ERF_SMALL), a)
    n, r = reduce(b, b.polynomial(b.minimum(a, 4.0), table.ERF_LARGE))
    far = b.sub(1.0, b.mul(of_reduced(b, r), power_of_two(b, n)))
    return b.copysign(b.select(b.compare("ogt", a, 0.9), far, near), x)


def _erf_double(b: Builder, x: Value) -> Value:
    """``erf(k + d) = erf(k) + erf'(k) d (1 - k d + ...)``: Hermite polynomials in the tabulated point k."""
    a = b.abs(x)
    last = (_LAST - 1) / _STEPS
    y = b.select(b.compare("olt", a, last), a, last)  # NaN too, for the table's sake
    shifted = b.add(y, b.magic / _STEPS)
    k = b.sub(shifted, b.magic / _STEPS)
    index = b.op("sub", b.bits(shifted), b.magic_bits - (7 << 52))
    b.globals.append(_table_text())
    value, slope = b.load_pairs(_TABLE, index)
    d, square, minus = b.sub(y, k), b.mul(k, k), b.neg(k)
    q = b.mul(minus, b.polynomial(square, (1 / 6, -2 / 9, 2 / 45)))
    q = b.fma(q, d, b.polynomial(square, (1 / 10, -2 / 5, 2 / 15)))
    q = b.fma(q, d, b.mul(minus, b.polynomial(square, (-1 / 2, 1 / 3))))
    q = b.fma(q, d, b.polynomial(square, (-1 / 3, 2 / 3)))
    q = b.fma(q, d, minus)
    y = b.fma(slope, b.fma(b.mul(q, d), d, d), value)
    return b.copysign(b.select(b.compare("uno", x, x), x, y), x)


@cache
def _table_text() -> str:
    """erf and its derivative at 0, 1/128, ..., 6, in pairs."""
    return byte_table(_TABLE, struct.pack(f"<{2 * _LAST + 2}d", *_table()), 64)


def _table() -> list[float]:
    """Rounded to nearest, from one point to the next by Taylor's series.

    Its terms, by which the slope ``2 / sqrt(pi) exp(-x**2)`` grows in a step, follow from the last two by the
    recurrence of Hermite's polynomials; erf grows by their integrals.
    """
    found: list[float] = []
    one, erf_here = 1 << _PRECISION, 0
    slope = math.isqrt(table.TWO_OVER_PI >> (table.TWO_OVER_PI_BITS - 2 * _PRECISION - 1))
    for point in range(_LAST + 1):
        found += (erf_here / one, slope / one)
        term, before, order, slope, growth = slope, 0, 0, 0, 0
        while term or before:
            order += 1
            slope += term
            growth += term // order
            term, before = -2 * (point * term + before) // (_STEPS**2 * order), term
        erf_here += growth // _STEPS
    return found
