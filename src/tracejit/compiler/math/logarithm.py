"""log, log1p and softplus. An argument is written as ``2**k m`` with m in ``[sqrt(1/2), sqrt(2))`` by
integer arithmetic on its bits; log(m) is a polynomial (float) or an odd series in ``f / (2 + f)`` (double).
"""

from __future__ import annotations

import math

from . import coefficients as table
from .builder import Builder
from .exponential import of_negative


def decompose(b: Builder, x: str, denormals: bool = True) -> tuple[str, str]:
    """``(k, m)``, both floating, of a positive finite `x`."""
    if denormals:
        smallest, lift = (2.0**-1022, 54) if b.is_double else (2.0**-126, 25)
        small = b.compare("olt", x, smallest)
        x = b.select(small, b.mul(x, 2.0**lift), x)
    bits = b.bits(x)
    if b.is_double:  # biased by 1023 so that a logical shift will do
        shifted = b.int("sub", bits, 0x3FE6A09E667F3BCD - (1023 << 52))
        biased = b.int("lshr", shifted, 52)
        m = b.from_bits(b.int("sub", bits, b.int("shl", b.int("sub", biased, 1023), 52)))
        k = b.sub(b.from_bits(b.int("or", biased, b.magic_bits)), b.magic + 1023.0)
    else:
        exponent = b.int("ashr", b.int("sub", bits, 0x3F3504F3), 23)
        m = b.from_bits(b.int("sub", bits, b.int("shl", exponent, 23)))
        k = b.to_float(exponent)
    if denormals:
        k = b.sub(k, b.select(small, float(lift), 0.0))
    return k, m


def assemble(b: Builder, f: str, k: str, correction: str | None = None) -> str:
    """``log(1 + f) + k log(2) + correction`` for ``1 + f`` in ``[sqrt(1/2), sqrt(2))``."""
    if b.is_double:
        high, low = table.LN2_DOUBLE
        s = b.div(f, b.add(f, 2.0))
        z = b.mul(s, s)
        half_square = b.mul(b.mul(f, f), 0.5)
        tail = b.mul(k, low) if correction is None else b.fma(k, low, correction)
        tail = b.fma(s, b.fma(z, b.polynomial(z, table.LOG_DOUBLE), half_square), tail)
        return b.fma(k, high, b.sub(f, b.sub(half_square, tail)))
    high, low = table.LN2_FLOAT
    z = b.mul(f, f)
    tail = b.mul(b.mul(z, f), b.polynomial(f, table.LOG_FLOAT))
    tail = b.fma(k, low, tail)
    if correction is not None:
        tail = b.add(tail, correction)
    return b.fma(k, high, b.add(f, b.fma(z, -0.5, tail)))


def with_limits(b: Builder, x: str, y: str) -> str:
    """`y`, or the exact result where `x` is zero, infinite, negative or NaN."""
    y = b.select(b.compare("oeq", x, math.inf), math.inf, y)
    y = b.select(b.compare("oeq", x, 0.0), -math.inf, y)
    return b.select(b.compare("ult", x, 0.0), math.nan, y)


def log(b: Builder, x: str) -> str:
    k, m = decompose(b, x)
    return with_limits(b, x, assemble(b, b.sub(m, 1.0), k))


def log1p(b: Builder, x: str) -> str:
    """``log(1 + x)``: the rounding error of ``1 + x`` is divided by it and added back."""
    u = b.add(x, 1.0)
    k, m = decompose(b, u, denormals=False)
    large = b.sub(1.0, b.sub(u, x))
    small = b.sub(x, b.sub(u, 1.0))
    error = b.div(b.select(b.compare("oge", x, 1.0), large, small), u)
    y = with_limits(b, u, assemble(b, b.sub(m, 1.0), k, error))
    tiny = 2.0**-54 if b.is_double else 2.0**-25
    return b.select(b.compare("olt", b.abs(x), tiny), x, y)


def log1p_of_fraction(b: Builder, e: str) -> str:
    """``log(1 + e)`` for ``0 <= e <= 1``, where the reduction is a comparison."""
    halve = b.compare("ogt", e, math.sqrt(2.0) - 1.0)
    f = b.select(halve, b.mul(b.sub(e, 1.0), 0.5), e)
    return assemble(b, f, b.select(halve, 1.0, 0.0))


def softplus(b: Builder, x: str) -> str:
    """``log(1 + exp(x))`` as ``max(x, 0) + log1p(exp(-|x|))``."""
    e = of_negative(b, b.neg(b.abs(x)))
    return b.add(b.select(b.compare("olt", x, 0.0), 0.0, x), log1p_of_fraction(b, e))
