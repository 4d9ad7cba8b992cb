"""Powers: pow and rsqrt.

``y log(x)`` is needed to more digits than pow has, so the double version carries the logarithm as an unevaluated sum of
two doubles, and the float version works in double throughout.
"""

from __future__ import annotations

import math

from ...ir_text import Value
from . import avx512
from . import coefficients as table
from .definition import vector_function
from .exponential import multiple, of_reduced, power_of_two, reduce, remainder, scale
from .logarithm import decompose, reduce_by_table, table_tail
from .writer import Builder

_TWO_THIRDS = (float.fromhex("0x1.5555555555555p-1"), float.fromhex("0x1.5555555555555p-55"))


@vector_function
def pow_(b: Builder, x: Value, y: Value) -> Value:
    """``x ** y``; whatever is not an ordinary result of a positive base is made anew in a branch."""
    magnitude = b.abs(x)
    if avx512.available(b):  # 0, inf and NaN come out as exponents that are not finite
        return _by_logarithm(b, x, y, *_log_by_table(b, magnitude), b.compare("slt", b.bits(x), 0))
    infinity = ((1 << (b.bits_count - b.mantissa - 1)) - 1) << b.mantissa
    odd_base = b.compare("uge", b.op("sub", b.bits(x), 1), infinity - 1)  # zero, inf, NaN or negative
    if b.is_double:
        return _by_logarithm(b, x, y, *_log_extended(b, magnitude), odd_base)
    r = _power_float(b, x, y)
    rare = b.op("or", odd_base, b.compare("ueq", b.abs(y), math.inf))
    return b.if_any(rare, [r], lambda: [_with_limits(b, x, y, r)])[0]


def _by_logarithm(b: Builder, x: Value, y: Value, high: Value, low: Value, odd_base: Value) -> Value:
    """``x ** y`` from ``log(|x|) = high + low``; low may be a thousandth of high.

    `odd_base` marks the bases that do not show by a NaN or large exponent.
    """
    product, rest = _product(b, high, low, y)
    exponent = b.add(product, rest)
    n, n_scale = multiple(b, exponent)
    r = scale(b, of_reduced(b, b.add(remainder(b, product, n), rest)), n_scale)
    large = b.compare("uge", b.abs(exponent), 700.0 if b.is_double else 80.0)
    rare = b.op("or", large, odd_base)

    def anew() -> list[Value]:
        limited = y if b.has_fma else b.clamp(y, -(2.0**66), 2.0**66)  # Dekker's splitting must not overflow
        whole = _product(b, *b.fast_two_sum(high, low), limited)
        return [_with_limits(b, x, y, _exp_limited(b, *whole))]

    return b.if_any(rare, [r], anew)[0]


def _product(b: Builder, high: Value, low: Value, y: Value) -> tuple[Value, Value]:
    """``(high + low) * y`` in two parts."""
    product, rest = b.two_product(high, y)
    return product, b.fma(low, y, rest)


def _exp_limited(b: Builder, high: Value, low: Value) -> Value:
    """``exp(high + low)`` for any high."""
    limited = b.clamp(high, -760.0, 720.0) if b.is_double else b.clamp(high, -110.0, 95.0)
    low = b.select(b.compare("oeq", limited, high), low, 0.0)
    n, r = reduce(b, limited)
    return scale(b, of_reduced(b, b.add(r, low)), n)


def _log_by_table(b: Builder, x: Value) -> tuple[Value, Value]:
    """``log(x)`` as a sum of two numbers, relative error about 2**-62 (float: 2**-32)."""
    _, _, f, high, low = reduce_by_table(b, x)
    s, e1 = b.fast_two_sum(high, f)
    p, e2 = b.two_product(f, f)
    s, e3 = b.fast_two_sum(s, b.mul(p, -0.5))
    tail = b.fma(b.mul(f, p), b.polynomial(f, table_tail(b)), low)
    return s, b.add(tail, b.fma(e2, -0.5, b.add(e1, e3)))


def _power_float(b: Builder, x: Value, y: Value) -> Value:
    d, wide_x = b.widen(x)
    _, wide_y = b.widen(y)
    k, m = decompose(d, d.abs(wide_x), denormals=False)
    f = d.sub(m, 1.0)
    s = d.div(f, d.add(f, 2.0))
    logarithm = d.mul(s, d.polynomial(d.mul(s, s), table.ATANH_SHORT))
    logarithm = d.fma(k, math.log(2.0), logarithm)
    n, r = reduce(d, d.clamp(d.mul(wide_y, logarithm), -110.0, 95.0))
    return b.narrow(d.mul(d.polynomial(r, table.EXP_SHORT), power_of_two(d, n)))


def _log_extended(b: Builder, x: Value) -> tuple[Value, Value]:
    """``log(x)`` as a sum of two doubles, relative error about 2**-65."""
    k, m = decompose(b, x)
    f, g = b.sub(m, 1.0), b.add(m, 1.0)
    g_low = b.sub(m, b.sub(g, 1.0))
    inverse = b.div(1.0, g)
    s = b.mul(f, inverse)
    p, e = b.two_product(s, g)
    rest = b.fma(s, b.neg(g_low), b.sub(b.sub(f, p), e))
    s_low = b.mul(rest, inverse)
    zh, zl = b.two_product(s, s)
    zl = b.fma(b.mul(s, 2.0), s_low, zl)
    ch, cl = b.two_product(zh, s)
    cl = b.fma(zl, s, b.fma(zh, s_low, cl))
    th, tl = b.two_product(ch, _TWO_THIRDS[0])
    tl = b.fma(cl, _TWO_THIRDS[0], b.fma(ch, _TWO_THIRDS[1], tl))
    tl = b.fma(b.mul(ch, zh), b.polynomial(zh, table.ATANH_TAIL), tl)
    kh, kl = b.two_product(k, table.LN2_FULL[0])
    kl = b.fma(k, table.LN2_FULL[1], kl)
    high, e1 = b.two_sum(kh, b.mul(s, 2.0))
    high, e2 = b.two_sum(high, th)
    return high, b.add(b.add(e1, e2), b.add(kl, b.fma(s_low, 2.0, tl)))


def _with_limits(b: Builder, x: Value, y: Value, r: Value) -> Value:
    """The C99 table: signs of odd powers, zeros, infinities, NaN, and the two ways to be exactly one."""
    magnitude = b.abs(x)
    is_whole = _is_whole(b, y)
    is_odd = b.op("xor", is_whole, b.op("and", is_whole, _is_whole(b, b.mul(y, 0.5))))
    falls = b.compare("olt", y, 0.0)
    r = b.select(b.compare("oeq", magnitude, 0.0), b.select(falls, math.inf, 0.0), r)
    r = b.select(b.compare("oeq", magnitude, math.inf), b.select(falls, 0.0, math.inf), r)
    y_infinite = b.compare("oeq", b.abs(y), math.inf)
    grows = b.op("xor", b.compare("ogt", magnitude, 1.0), falls)
    r = b.select(y_infinite, b.select(grows, math.inf, 0.0), r)
    negative = b.compare("slt", b.bits(x), 0)
    r = b.select(b.op("and", negative, is_odd), b.neg(r), r)
    finite = b.compare("one", magnitude, math.inf)
    invalid = b.op("and", b.compare("olt", x, 0.0), b.op("xor", is_whole, finite))
    invalid = b.op("and", invalid, finite)
    r = b.select(invalid, math.nan, r)
    r = b.select(b.compare("uno", x, y), math.nan, r)
    one = b.op("or", b.compare("oeq", x, 1.0), b.compare("oeq", y, 0.0))
    one = b.op("or", one, b.op("and", y_infinite, b.compare("oeq", magnitude, 1.0)))
    return b.select(one, 1.0, r)


def _is_whole(b: Builder, y: Value) -> Value:
    """Whether y is an integer: by the addition that has no room for a fraction, as SSE2 cannot truncate."""
    a, room = b.abs(y), 2.0**b.mantissa
    same = b.compare("oeq", b.sub(b.add(a, room), room), a)
    return b.op("or", same, b.compare("oge", a, room))


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
