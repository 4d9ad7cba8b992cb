"""exp and its relatives: exp, expm1, sigmoid, and the reduced pieces that the hyperbolic functions and pow
build on. An argument is written as ``n log(2) + r``; exp(r) is a polynomial and 2**n is put into the exponent
bits. Knows nothing of logarithms or angles.
"""

from __future__ import annotations

import math

from ...ir_text import Value
from . import avx512
from . import coefficients as table
from .definition import vector_function
from .writer import Builder

LOG2E = 1.0 / math.log(2.0)


def multiple(b: Builder, x: Value) -> tuple[Value, Value]:
    """The integer n nearest to ``x / log(2)``: as a float, and as `shift` and `scale` take it."""
    quotient = b.mul(x, LOG2E)
    if avx512.available(b):
        n = b.w.intrinsic("rint", quotient)
        return n, n
    return b.round(quotient)


def remainder(b: Builder, x: Value, n: Value) -> Value:
    """``x - n log(2)``."""
    high, low = table.LN2_DOUBLE if b.is_double else table.LN2_FLOAT
    return b.fma(n, -low, b.fma(n, -high, x))


def reduce(b: Builder, x: Value) -> tuple[Value, Value]:
    """``(n, r)`` with ``x = n log(2) + r`` and ``|r| <= log(2)/2``; n as `shift` and `scale` take it."""
    n, exponent = multiple(b, x)
    return exponent, remainder(b, x, n)


def shift(b: Builder, n: Value, by: int) -> Value:
    """``n + by``."""
    return b.add(n, float(by)) if avx512.available(b) else b.op("add", n, by)


def scale(b: Builder, x: Value, n: Value) -> Value:
    """``x * 2**n``; overflow and denormals come out right."""
    return avx512.scale(b, x, n) if avx512.available(b) else b.scale(x, n)


def power_of_two(b: Builder, n: Value) -> Value:
    """``2**n`` in the normal range."""
    return avx512.scale(b, b.value(1.0), n) if avx512.available(b) else b.power_of_two(n)


def quadratic_tail(b: Builder, r: Value) -> Value:
    """``exp(r) - 1 - r``."""
    q = b.polynomial(r, table.EXP_DOUBLE if b.is_double else table.EXP_FLOAT)
    return b.mul(b.mul(r, r), q)


def of_reduced(b: Builder, r: Value) -> Value:
    """``exp(r)`` for ``|r| <= log(2)/2``."""
    q = b.polynomial(r, table.EXP_DOUBLE if b.is_double else table.EXP_FLOAT)
    return b.add(b.fma(b.mul(r, r), q, r), 1.0)


@vector_function
def exp(b: Builder, x: Value) -> Value:
    n, r = reduce(b, b.clamp(x, -746.0, 710.0) if b.is_double else b.clamp(x, -104.0, 89.0))
    return scale(b, of_reduced(b, r), n)


@vector_function
def exp2(b: Builder, x: Value) -> Value:
    """``2**n exp(r log(2))`` with ``x = n + r``, which is exact."""
    x = b.clamp(x, -1080.0, 1025.0) if b.is_double else b.clamp(x, -155.0, 129.0)
    if avx512.available(b):
        n = exponent = b.w.intrinsic("rint", x)
    else:
        n, exponent = b.round(x)
    return scale(b, of_reduced(b, b.mul(b.sub(x, n), math.log(2.0))), exponent)


def of_negative(b: Builder, x: Value) -> Value:
    """``exp(x)`` for ``x <= 0``; one limit less."""
    low = -746.0 if b.is_double else -104.0
    x = b.select(b.compare("olt", x, low), low, x)
    n, r = reduce(b, x)
    return scale(b, of_reduced(b, r), n)


def quarter_expm1(b: Builder, x: Value) -> Value:
    """``(exp(x) - 1) / 4``, finite wherever ``sinh(x)`` is; the quarter keeps 2**n representable."""
    n, r = reduce(b, x)
    t = power_of_two(b, shift(b, n, -2))
    head = b.fma(t, r, b.sub(t, 0.25))
    return b.fma(t, quadratic_tail(b, r), head)


@vector_function
def expm1(b: Builder, x: Value) -> Value:
    limited = b.clamp(x, -60.0, 710.0) if b.is_double else b.clamp(x, -30.0, 89.0)
    y = b.mul(quarter_expm1(b, limited), 4.0)
    tiny = 2.0**-54 if b.is_double else 2.0**-25
    return b.select(b.compare("olt", b.abs(x), tiny), x, y)  # keeps -0.0 and denormals


@vector_function
def sigmoid(b: Builder, x: Value) -> Value:
    """``1 / (1 + exp(-x))``, from exp(-|x|) so that large negative arguments keep their denormal results."""
    e = of_negative(b, b.neg(b.abs(x)))
    numerator = b.select(b.compare("olt", x, 0.0), e, 1.0)
    return b.div(numerator, b.add(e, 1.0))
