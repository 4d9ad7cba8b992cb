"""erf and erfc. Where they are not nearly constant, double precision expands around the nearest of tabulated points,
whose values are in files beside this one, which ``python -m prebuilt``, run in `tests`, writes. In single precision erf
is a polynomial near zero and one in the exponent of erfc beyond. Far from zero, erfc is ``exp(-x**2) / x`` times what
hardly changes.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from ...ir_text import Value
from . import coefficients as table
from .definition import byte_table, vector_function
from .exponential import of_reduced, power_of_two, quadratic_tail, reduce, scale
from .writer import Builder

STEPS = 128  # points from 0 to 1
LAST = 768  # the point 6, from which erf rounds to 1
FAR = 192  # the point 1.5, up to which erfc is tabulated, and one point more


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
    y = _expanded(b, b.abs(x), LAST, of_rest=False)
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
    last, far = FAR / STEPS, b.minimum(a, 28.0)
    far = b.select(b.compare("olt", far, last), last, far)
    q = b.div(b.sub(far, table.ERFC_CENTRE), b.add(far, table.ERFC_CENTRE))
    level = b.div(b.polynomial(q, table.ERFC_DOUBLE), far)
    square, lost = b.two_product(far, far)
    n, r = reduce(b, b.neg(square))
    r = b.sub(r, lost)
    y = scale(b, b.fma(level, b.add(quadratic_tail(b, r), r), level), n)
    return b.select(b.compare("olt", a, last), _expanded(b, a, FAR + 1, of_rest=True), y)


def _expanded(b: Builder, a: Value, points: int, of_rest: bool) -> Value:
    """``f(k + d) = f(k) + f'(k) d (1 - k d + ...)`` of erf or erfc: Hermite polynomials in the tabulated point k."""
    last = (points - 1) / STEPS
    y = b.select(b.compare("olt", a, last), a, last)  # NaN too, for the table's sake
    shifted = b.add(y, b.magic / STEPS)
    k = b.sub(shifted, b.magic / STEPS)
    index = b.op("sub", b.bits(shifted), b.magic_bits - (7 << 52))
    function = "erfc" if of_rest else "erf"
    b.globals.append(_table_text(function))
    value, slope = b.load_pairs(f"@tj_{function}_table", index)
    d, square, minus = b.sub(y, k), b.mul(k, k), b.neg(k)
    q = b.mul(minus, b.polynomial(square, (1 / 6, -2 / 9, 2 / 45)))
    q = b.fma(q, d, b.polynomial(square, (1 / 10, -2 / 5, 2 / 15)))
    q = b.fma(q, d, b.mul(minus, b.polynomial(square, (-1 / 2, 1 / 3))))
    q = b.fma(q, d, b.polynomial(square, (-1 / 3, 2 / 3)))
    q = b.fma(q, d, minus)
    return b.fma(slope, b.fma(b.mul(q, d), d, d), value)


def table_file(function: str) -> Path:
    """Of erf or erfc and its derivative at 0, 1/128, ..., in pairs."""
    return Path(__file__).parent / f"{function}.f64"


@cache
def _table_text(function: str) -> str:
    return byte_table(f"@tj_{function}_table", table_file(function).read_bytes(), 64)
