"""pow. ``y log(x)`` is needed to more digits than the result has, so the double version carries the logarithm
as an unevaluated sum of two doubles, and the float version works in double throughout.
"""

from __future__ import annotations

import math

from . import coefficients as table
from .builder import Builder
from .exponential import LOG2E, of_reduced, reduce
from .logarithm import decompose

_TWO_THIRDS = (float.fromhex("0x1.5555555555555p-1"), float.fromhex("0x1.5555555555555p-55"))


def power(b: Builder, x: str, y: str) -> str:
    magnitude = _power_double(b, b.abs(x), y) if b.is_double else _power_float(b, x, y)
    return _with_limits(b, x, y, magnitude)


def _power_float(b: Builder, x: str, y: str) -> str:
    d, wide_x = b.widen(x)
    _, wide_y = b.widen(y)
    k, m = decompose(d, d.abs(wide_x), denormals=False)
    f = d.sub(m, 1.0)
    s = d.div(f, d.add(f, 2.0))
    logarithm = d.mul(s, d.polynomial(d.mul(s, s), table.ATANH_SHORT))
    logarithm = d.fma(k, math.log(2.0), logarithm)
    n, r = reduce(d, d.clamp(d.mul(wide_y, logarithm), -110.0, 95.0))
    return b.narrow(d.mul(d.polynomial(r, table.EXP_SHORT), d.power_of_two(n)))


def _log_extended(b: Builder, x: str) -> tuple[str, str]:
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
    low = b.add(b.add(e1, e2), b.add(kl, b.fma(s_low, 2.0, tl)))
    return b.fast_two_sum(high, low)


def _power_double(b: Builder, x: str, y: str) -> str:
    high, low = _log_extended(b, x)
    y = b.clamp(y, -(2.0**66), 2.0**66)  # decided beyond, and an exact product must not overflow
    ph, pl = b.two_product(high, y)
    pl = b.fma(low, y, pl)
    limited = b.clamp(ph, -760.0, 720.0)
    pl = b.select(b.compare("oeq", limited, ph), pl, 0.0)
    n, n_int = b.round(b.mul(limited, LOG2E))
    r = b.fma(n, -table.LN2_DOUBLE[0], limited)
    r = b.add(b.fma(n, -table.LN2_DOUBLE[1], r), pl)
    return b.scale(of_reduced(b, r), n_int)


def _with_limits(b: Builder, x: str, y: str, r: str) -> str:
    """The C99 table: signs of odd powers, zeros, infinities, NaN, and the two ways to be exactly one."""
    magnitude = b.abs(x)
    whole = b.trunc(y)
    half = b.mul(y, 0.5)
    is_whole = b.compare("oeq", whole, y)
    is_odd = b.logical("and", is_whole, b.compare("one", b.trunc(half), half))
    falls = b.compare("olt", y, 0.0)
    r = b.select(b.compare("oeq", magnitude, 0.0), b.select(falls, math.inf, 0.0), r)
    r = b.select(b.compare("oeq", magnitude, math.inf), b.select(falls, 0.0, math.inf), r)
    y_infinite = b.compare("oeq", b.abs(y), math.inf)
    grows = b.logical("xor", b.compare("ogt", magnitude, 1.0), falls)
    r = b.select(y_infinite, b.select(grows, math.inf, 0.0), r)
    negative = b.int_compare("slt", b.bits(x), 0)
    r = b.select(b.logical("and", negative, is_odd), b.neg(r), r)
    finite = b.compare("one", magnitude, math.inf)
    invalid = b.logical("and", b.compare("olt", x, 0.0), b.logical("xor", is_whole, finite))
    invalid = b.logical("and", invalid, finite)
    r = b.select(invalid, math.nan, r)
    r = b.select(b.compare("uno", x, y), math.nan, r)
    one = b.logical("or", b.compare("oeq", x, 1.0), b.compare("oeq", y, 0.0))
    one = b.logical("or", one, b.logical("and", y_infinite, b.compare("oeq", magnitude, 1.0)))
    return b.select(one, 1.0, r)
