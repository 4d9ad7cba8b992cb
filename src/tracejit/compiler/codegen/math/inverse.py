"""atan, atan2, asin and acos. Each is a multiple of pi/4 plus an odd polynomial in a reduced argument t; the
multiple is kept in two parts so that its rounding does not show.
"""

from __future__ import annotations

import math

from ...ir_text import Value
from . import coefficients as table
from .definition import vector_function
from .writer import Builder

TAN_PI_8 = math.sqrt(2.0) - 1.0


def _odd(
    b: Builder, t: Value, z: Value, double: tuple[float, ...], single: tuple[float, ...], quarters: Value
) -> Value:
    """``quarters * pi/4 + t + t z P(z)``, smallest terms first."""
    high, low = table.QUARTER_PI_DOUBLE if b.is_double else table.QUARTER_PI_FLOAT
    p = b.polynomial(z, double if b.is_double else single)
    tail = b.fma(b.mul(t, z), p, b.mul(quarters, low))
    return b.add(b.mul(quarters, high), b.add(t, tail))


def _atan(b: Builder, t: Value, quarters: Value) -> Value:
    return _odd(b, t, b.mul(t, t), table.ATAN_DOUBLE, table.ATAN_FLOAT, quarters)


@vector_function
def atan(b: Builder, x: Value) -> Value:
    """Arguments beyond tan(pi/8) become ``(a - 1)/(a + 1)``, those beyond tan(3 pi/8) ``-1/a``."""
    a = b.abs(x)
    middle, large = b.compare("ogt", a, TAN_PI_8), b.compare("ogt", a, TAN_PI_8 + 2.0)
    numerator = b.select(large, -1.0, b.select(middle, b.sub(a, 1.0), a))
    denominator = b.select(large, a, b.select(middle, b.add(a, 1.0), 1.0))
    quarters = b.select(large, 2.0, b.select(middle, 1.0, 0.0))
    return b.copysign(_atan(b, b.div(numerator, denominator), quarters), x)


@vector_function
def atan2(b: Builder, y: Value, x: Value) -> Value:
    """The angle of the point (x, y): one division of the smaller by the larger, then the octant."""
    ay, ax = b.abs(y), b.abs(x)
    steep = b.compare("ogt", ay, ax)
    small, large = b.select(steep, ax, ay), b.select(steep, ay, ax)
    infinite = b.op("and", b.compare("oeq", small, math.inf), b.compare("oeq", large, math.inf))
    small, large = b.select(infinite, 1.0, small), b.select(infinite, 1.0, large)
    top, bottom = (2.0**1000, 2.0**-900) if b.is_double else (2.0**120, 2.0**-90)
    scale = b.select(b.compare("ogt", large, top), 0.25, 1.0)  # the sum below must not overflow
    scale = b.select(b.compare("olt", large, bottom), 1 / bottom, scale)  # nor the comparison lose digits
    small, large = b.mul(small, scale), b.mul(large, scale)
    middle = b.compare("ogt", small, b.mul(large, TAN_PI_8))
    numerator = b.select(middle, b.sub(small, large), small)
    denominator = b.select(middle, b.add(small, large), large)
    denominator = b.select(b.compare("oeq", large, 0.0), 1.0, denominator)
    quarters = b.select(middle, 1.0, 0.0)
    left = b.compare("slt", b.bits(x), 0)  # by the sign bit: atan2(0, -0) is pi
    quarters = b.select(steep, b.sub(2.0, quarters), quarters)
    quarters = b.select(left, b.sub(4.0, quarters), quarters)
    ratio = b.div(numerator, denominator)
    t = b.select(b.op("xor", steep, left), b.neg(ratio), ratio)
    angle = b.flip(_atan(b, t, quarters), b.sign_of(y))
    return b.select(b.compare("uno", x, y), math.nan, angle)


def _asin_reduction(b: Builder, x: Value) -> tuple[Value, Value, Value, Value]:
    """``(large, a, t, z)``: ``a = |x|`` and, where a > 1/2, ``t = 2 sqrt(z)`` with ``z = (1 - a)/2``."""
    a = b.abs(x)
    large = b.compare("ogt", a, 0.5)
    z = b.select(large, b.fma(a, -0.5, 0.5), b.mul(a, a))
    return large, a, b.mul(b.sqrt(z), 2.0), z


@vector_function
def asin(b: Builder, x: Value) -> Value:
    large, a, root, z = _asin_reduction(b, x)
    t = b.select(large, b.neg(root), a)
    quarters = b.select(large, 2.0, 0.0)
    return b.copysign(_odd(b, t, z, table.ASIN_DOUBLE, table.ASIN_FLOAT, quarters), x)


@vector_function
def acos(b: Builder, x: Value) -> Value:
    large, _, root, z = _asin_reduction(b, x)
    t = b.select(large, b.copysign(root, x), b.neg(x))
    quarters = b.select(large, b.select(b.compare("olt", x, 0.0), 4.0, 0.0), 2.0)
    return _odd(b, t, z, table.ASIN_DOUBLE, table.ASIN_FLOAT, quarters)
