"""erf and erfc. Where they are not nearly constant, double precision expands around the nearest of tabulated points,
whose values are worked out here in integers. In single precision erf is a polynomial near zero and one in the exponent
of erfc beyond. Far from zero, erfc is ``exp(-x**2) / x`` times what hardly changes.
"""

from __future__ import annotations

import math
import struct
from functools import cache

from ...ir_text import Value
from . import coefficients as table
from .definition import byte_table, vector_function
from .exponential import of_reduced, power_of_two, quadratic_tail, reduce, scale
from .writer import Builder

_STEPS = 128  # points from 0 to 1
_LAST = 768  # the point 6, from which erf rounds to 1
_FAR = 192  # the point 1.5, up to which erfc is tabulated
_PRECISION = 160  # bits behind the point of the integers that the tables are made in


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
    y = _expanded(b, b.abs(x), _LAST, of_rest=False)
    return b.copysign(b.select(b.compare("uno", x, x), x, y), x)


@vector_function
def erfc(b: Builder, x: Value) -> Value:
    """``erfc(-x) = 2 - erfc(x)`` below 0."""
    y = _rest_double(b, b.abs(x)) if b.is_double else _rest_float(b, b.abs(x))
    return b.select(b.compare("olt", x, 0.0), b.sub(2.0, y), y)


def _rest_float(b: Builder, a: Value) -> Value:
    """``exp(-a**2) p / (a + 4)`` in double precision, in which the square is exact."""
    d, wide = b.widen(b.minimum(a, 10.5))
    inverse = d.div(1.0, d.add(wide, 4.0))
    n, r = reduce(d, d.neg(d.mul(wide, wide)))
    e = d.mul(d.polynomial(r, table.EXP_SHORT), power_of_two(d, n))
    p = d.polynomial(d.fma(inverse, -8.0, 1.0), table.ERFC_SHORT)
    return b.narrow(d.mul(e, d.mul(p, inverse)))


def _rest_double(b: Builder, a: Value) -> Value:
    """From the table up to 1.5, then ``exp(-a**2) p / a``; what the square loses goes to the reduced argument."""
    last, far = _FAR / _STEPS, b.minimum(a, 28.0)
    far = b.select(b.compare("olt", far, last), last, far)
    q = b.div(b.sub(far, table.ERFC_CENTRE), b.add(far, table.ERFC_CENTRE))
    level = b.div(b.polynomial(q, table.ERFC_DOUBLE), far)
    square, lost = b.two_product(far, far)
    n, r = reduce(b, b.neg(square))
    r = b.sub(r, lost)
    y = scale(b, b.fma(level, b.add(quadratic_tail(b, r), r), level), n)
    return b.select(b.compare("olt", a, last), _expanded(b, a, _FAR + 1, of_rest=True), y)


def _expanded(b: Builder, a: Value, points: int, of_rest: bool) -> Value:
    """``f(k + d) = f(k) + f'(k) d (1 - k d + ...)`` of erf or erfc: Hermite polynomials in the tabulated point k."""
    last = (points - 1) / _STEPS
    y = b.select(b.compare("olt", a, last), a, last)  # NaN too, for the table's sake
    shifted = b.add(y, b.magic / _STEPS)
    k = b.sub(shifted, b.magic / _STEPS)
    index = b.op("sub", b.bits(shifted), b.magic_bits - (7 << 52))
    name = "@tj_erfc_table" if of_rest else "@tj_erf_table"
    b.globals.append(_table_text(name, points, of_rest))
    value, slope = b.load_pairs(name, index)
    d, square, minus = b.sub(y, k), b.mul(k, k), b.neg(k)
    q = b.mul(minus, b.polynomial(square, (1 / 6, -2 / 9, 2 / 45)))
    q = b.fma(q, d, b.polynomial(square, (1 / 10, -2 / 5, 2 / 15)))
    q = b.fma(q, d, b.mul(minus, b.polynomial(square, (-1 / 2, 1 / 3))))
    q = b.fma(q, d, b.polynomial(square, (-1 / 3, 2 / 3)))
    q = b.fma(q, d, minus)
    return b.fma(slope, b.fma(b.mul(q, d), d, d), value)


@cache
def _table_text(name: str, points: int, of_rest: bool) -> str:
    """erf, or erfc, and its derivative at 0, 1/128, ..., ``points / 128``, in pairs."""
    return byte_table(name, struct.pack(f"<{2 * points + 2}d", *_table(points, of_rest)), 64)


def _table(points: int, of_rest: bool) -> list[float]:
    """Rounded to nearest, from one point to the next by Taylor's series.

    Its terms, by which the slope ``2 / sqrt(pi) exp(-x**2)`` grows in a step, follow from the last two by the
    recurrence of Hermite's polynomials; erf grows by their integrals.
    """
    found: list[float] = []
    one, erf_here = 1 << _PRECISION, 0
    slope = math.isqrt(table.TWO_OVER_PI >> (table.TWO_OVER_PI_BITS - 2 * _PRECISION - 1))
    for point in range(points + 1):
        found += ((one - erf_here) / one, -slope / one) if of_rest else (erf_here / one, slope / one)
        term, before, order, slope, growth = slope, 0, 0, 0, 0
        while term or before:
            order += 1
            slope += term
            growth += term // order
            term, before = -2 * (point * term + before) // (_STEPS**2 * order), term
        erf_here += growth // _STEPS
    return found
