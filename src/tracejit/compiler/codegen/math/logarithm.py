"""log, log1p and softplus. An argument is written as ``2**k m`` with m in ``[sqrt(1/2), sqrt(2))`` by
integer arithmetic on its bits; log(m) is a polynomial (float) or an odd series in ``f / (2 + f)`` (double).
With AVX-512 m is in ``[1, 2)`` and first multiplied by a tabulated reciprocal: no division, and the special
values come out right by themselves.
"""

from __future__ import annotations

import math

from ...ir_text import Value
from . import avx512
from . import coefficients as table
from .definition import vector_function
from .exponential import of_negative
from .writer import Builder


def decompose(b: Builder, x: Value, denormals: bool = True) -> tuple[Value, Value]:
    """``(k, m)``, both floating, of a positive finite `x`."""
    if denormals:
        smallest, lift = (2.0**-1022, 54) if b.is_double else (2.0**-126, 25)
        small = b.compare("olt", x, smallest)
        x = b.select(small, b.mul(x, 2.0**lift), x)
    bits = b.bits(x)
    if b.is_double:  # biased by 1023 so that a logical shift will do
        shifted = b.op("sub", bits, 0x3FE6A09E667F3BCD - (1023 << 52))
        biased = b.op("lshr", shifted, 52)
        m = b.from_bits(b.op("sub", bits, b.op("shl", b.op("sub", biased, 1023), 52)))
        k = b.sub(b.from_bits(b.op("or", biased, b.magic_bits)), b.magic + 1023.0)
    else:
        exponent = b.op("ashr", b.op("sub", bits, 0x3F3504F3), 23)
        m = b.from_bits(b.op("sub", bits, b.op("shl", exponent, 23)))
        k = b.to_float(exponent)
    if denormals:
        k = b.sub(k, b.select(small, float(lift), 0.0))
    return k, m


def assemble(b: Builder, f: Value, k: Value, correction: Value | None = None) -> Value:
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


def with_limits(b: Builder, x: Value, y: Value) -> Value:
    """`y`, or the exact result where `x` is zero, infinite, negative or NaN."""
    y = b.select(b.compare("oeq", x, math.inf), math.inf, y)
    y = b.select(b.compare("oeq", x, 0.0), -math.inf, y)
    return b.select(b.compare("ult", x, 0.0), math.nan, y)


def _table_entry(b: Builder, m: Value) -> tuple[Value, Value, Value]:
    """``(c, high, low)`` for m in ``[1, 2)``: ``log(m) = high + low + log(c m)``."""
    tables = (
        (table.LOG_TABLE_RECIPROCAL_DOUBLE, table.LOG_TABLE_HIGH_DOUBLE, table.LOG_TABLE_LOW_DOUBLE)
        if b.is_double
        else (table.LOG_TABLE_RECIPROCAL_FLOAT, table.LOG_TABLE_HIGH_FLOAT, table.LOG_TABLE_LOW_FLOAT)
    )
    index = b.op("lshr", b.bits(m), b.mantissa - (4 if b.is_double else 5))
    c, high, low = (avx512.look_up(b, values, index) for values in tables)
    return c, high, low


def reduce_by_table(b: Builder, x: Value) -> tuple[Value, Value, Value, Value, Value]:
    """``(k, c, f, high, low)`` with ``log(x) = high + low + log(1 + f)``, `f` and `high` exact.

    `k` is the exponent and `c` the tabulated reciprocal: ``1 + f = c x / 2**k``.
    """
    ln2_high, ln2_low = table.LN2_DOUBLE if b.is_double else table.LN2_FLOAT
    k, m = avx512.exponent(b, x), avx512.mantissa(b, x)
    c, high, low = _table_entry(b, m)
    return k, c, b.fma(m, c, -1.0), b.fma(k, ln2_high, high), b.fma(k, ln2_low, low)


def table_tail(b: Builder) -> tuple[float, ...]:
    """Coefficients of ``(log1p(f) - f + f*f/2) / f**3`` after `reduce_by_table`."""
    return table.LOG_TABLE_TAIL_DOUBLE if b.is_double else table.LOG_TABLE_TAIL_FLOAT


def _assemble_by_table(b: Builder, f: Value, high: Value, low: Value, relative: Value | None = None) -> Value:
    """``high + low + log(1 + f + relative (1 + f))``; `relative` is tiny."""
    tail = b.fma(b.mul(f, f), b.polynomial(f, (-0.5, *table_tail(b))), low)
    if relative is not None:
        tail = b.fma(relative, b.fma(f, b.sub(f, 1.0), 1.0), tail)
    return b.add(high, b.add(f, tail))


@vector_function
def log(b: Builder, x: Value) -> Value:
    if avx512.available(b):
        _, _, f, high, low = reduce_by_table(b, x)
        return _assemble_by_table(b, f, high, low)
    k, m = decompose(b, x)
    return with_limits(b, x, assemble(b, b.sub(m, 1.0), k))


@vector_function
def log2(b: Builder, x: Value) -> Value:
    """``k + log(m) / log(2)``: exact for powers of 2, where log(m) is 0."""
    k, m = decompose(b, x)
    part = assemble(b, b.sub(m, 1.0), b.value(0.0))
    return with_limits(b, x, b.fma(part, 1.0 / math.log(2.0), k))


@vector_function
def log10(b: Builder, x: Value) -> Value:
    """``k log10(2) + log(m) / log(10)``; the first term in two parts, the larger of them exact."""
    k, m = decompose(b, x)
    part = assemble(b, b.sub(m, 1.0), b.value(0.0))
    high, low = table.LOG10_2_DOUBLE if b.is_double else table.LOG10_2_FLOAT
    tail = b.fma(k, low, b.mul(part, 1.0 / math.log(10.0)))
    return with_limits(b, x, b.fma(k, high, tail))


@vector_function
def log1p(b: Builder, x: Value) -> Value:
    """``log(1 + x)``: the rounding error of ``1 + x`` is divided by it and added back."""
    u = b.add(x, 1.0)
    large = b.sub(1.0, b.sub(u, x))
    small = b.sub(x, b.sub(u, 1.0))
    error = b.select(b.compare("oge", x, 1.0), large, small)
    if avx512.available(b):
        k, c, f, high, low = reduce_by_table(b, u)
        y = _assemble_by_table(b, f, high, low, avx512.scale(b, b.mul(error, c), b.neg(k)))
        limit = b.add(k, f)  # NaN for negative u
        y = b.select(b.compare("oeq", b.abs(limit), math.inf), limit, y)
    else:
        k, m = decompose(b, u, denormals=False)
        y = with_limits(b, u, assemble(b, b.sub(m, 1.0), k, b.div(error, u)))
    tiny = 2.0**-54 if b.is_double else 2.0**-25
    return b.select(b.compare("olt", b.abs(x), tiny), x, y)


def log1p_of_fraction(b: Builder, e: Value) -> Value:
    """``log(1 + e)`` for ``0 <= e <= 1``, where the reduction is a comparison or nothing."""
    if avx512.available(b):
        u = b.minimum(b.add(e, 1.0), 2.0 - 2.0**-b.mantissa)  # inside the table; the rest is error
        c, high, low = _table_entry(b, u)
        error = b.sub(e, b.sub(u, 1.0))
        return _assemble_by_table(b, b.fma(u, c, -1.0), high, low, b.mul(error, c))
    halve = b.compare("ogt", e, math.sqrt(2.0) - 1.0)
    f = b.select(halve, b.mul(b.sub(e, 1.0), 0.5), e)
    return assemble(b, f, b.select(halve, 1.0, 0.0))


@vector_function
def softplus(b: Builder, x: Value) -> Value:
    """``log(1 + exp(x))`` as ``max(x, 0) + log1p(exp(-|x|))``."""
    e = of_negative(b, b.neg(b.abs(x)))
    return b.add(b.select(b.compare("olt", x, 0.0), 0.0, x), log1p_of_fraction(b, e))
