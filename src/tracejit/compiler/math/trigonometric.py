"""sin, cos and tan. Ordinary arguments lose their multiple of pi by a few multiply-adds with pi split in
parts; a vector that holds a larger one takes the cold route of `reduction`. Float arguments are reduced in
double.
"""

from __future__ import annotations

import math
from functools import cache

from . import coefficients as table
from .builder import Builder
from .definition import COLD, MathFunction, define
from .reduction import call_reduce_huge, replace_large_lanes


def _limit(b: Builder) -> float:
    """Largest argument the fast reduction is exact enough for."""
    return 2.0**38 if b.has_fma else 2.0**20


def _subtract_multiple(b: Builder, x: str, n: str, scale: float) -> tuple[str, str]:
    """``x - n * scale * pi`` as a double and its error; `scale` is a power of two."""
    first, second, third = (scale * p for p in (table.PI_PARTS if b.has_fma else table.PI_PARTS_SHORT))
    r = b.fma(n, -first, x)
    product, error = b.two_product(n, second) if b.has_fma else (b.mul(n, second), None)
    s = b.sub(r, product)
    t = b.sub(b.sub(r, s), product)
    if error is not None:
        return s, b.fma(n, -third, b.sub(t, error))
    low = b.sub(b.mul(n, third), t)
    total = b.sub(s, low)
    return total, b.sub(b.sub(s, total), low)


def _subtract_multiple_short(b: Builder, x: str, n: str, scale: float) -> str:
    """The same to single accuracy, for arguments that came from float."""
    if b.has_fma:
        return b.fma(n, -scale * table.PI_PARTS[1], b.fma(n, -scale * table.PI_PARTS[0], x))
    for part in table.PI_PARTS_SHORT:
        x = b.sub(x, b.mul(n, scale * part))
    return x


def sin(b: Builder, x: str) -> str:
    y = _half_period(b, b.abs(x), 0.0)
    y = b.flip(y, b.sign_of(x))  # by |x| and its sign: -0.0 survives
    return replace_large_lanes(b, "sin", x, y, _limit(b), _huge("sin", b.has_fma))


def cos(b: Builder, x: str) -> str:
    y = _half_period(b, x, 0.5)
    return replace_large_lanes(b, "cos", x, y, _limit(b), _huge("cos", b.has_fma))


def _half_period(b: Builder, x: str, offset: float) -> str:
    """sin(x) (`offset` 0) or cos(x) (`offset` 1/2): ``r = x - (n + offset) pi`` and the parity of n."""
    d, wide = (b, x) if b.is_double else b.widen(x)
    turns = d.mul(wide, 1.0 / math.pi)
    n, parity = d.round(d.sub(turns, offset) if offset else turns)
    if offset:
        n, parity = d.add(n, offset), d.int("add", parity, 1)
    if b.is_double:
        r, t = _subtract_multiple(b, x, n, 1.0)
        z = b.mul(r, r)
        y = b.add(r, b.fma(b.mul(z, r), b.polynomial(z, table.SIN_DOUBLE), t))
        return b.flip(y, b.int("shl", parity, 63))
    r = b.narrow(_subtract_multiple_short(d, wide, n, 1.0))
    z = b.mul(r, r)
    y = b.fma(b.mul(z, r), b.polynomial(z, table.SIN_FLOAT), r)
    return b.flip(y, b.int("shl", b.narrow_int(parity), 31))


def tan(b: Builder, x: str) -> str:
    """tan(r), or -1/tan(r) in odd quadrants, of the remainder r by pi/2."""
    d, wide = (b, x) if b.is_double else b.widen(x)
    n, quadrant = d.round(d.mul(wide, 2.0 / math.pi))
    if b.is_double:
        r, t = _subtract_multiple(b, x, n, 0.5)
        s, c = _quarter_sin(b, r, t), _quarter_cos(b, r, t)
    else:
        r = b.narrow(_subtract_multiple_short(d, wide, n, 0.5))
        quadrant = b.narrow_int(quadrant)
        z = b.mul(r, r)
        s, c = b.fma(b.mul(z, r), b.polynomial(z, table.TAN_QUARTER_FLOAT), r), b.value(1.0)
    odd = b.int_compare("ne", b.int("and", quadrant, 1), 0)
    y = b.div(b.select(odd, c, s), b.select(odd, s, c))
    y = b.flip(y, b.int("shl", quadrant, b.bits_count - 1))
    y = b.select(b.compare("olt", b.abs(x), 2.0**-27 if b.is_double else 2.0**-13), x, y)
    return replace_large_lanes(b, "tan", x, y, _limit(b), _huge("tan", b.has_fma))


def _quarter_sin(b: Builder, r: str, t: str) -> str:
    """``sin(r + t)`` for ``|r| <= pi/4``, in double."""
    z = b.mul(r, r)
    tail = b.fma(z, b.mul(t, -0.5), t)
    return b.add(r, b.fma(b.mul(z, r), b.polynomial(z, table.SIN_QUARTER_DOUBLE), tail))


def _quarter_cos(b: Builder, r: str, t: str) -> str:
    """``cos(r + t)`` for ``|r| <= pi/4``, in double; the rounding of ``1 - r*r/2`` is added back."""
    z = b.mul(r, r)
    half = b.mul(z, 0.5)
    w = b.sub(1.0, half)
    error = b.fma(b.neg(r), t, b.sub(b.sub(1.0, w), half))
    return b.add(w, b.fma(b.mul(z, z), b.polynomial(z, table.COS_QUARTER_DOUBLE), error))


@cache
def _huge(name: str, fma: bool) -> MathFunction:
    """``double f(double)``: sin, cos or tan of any argument of at least 2**19; NaN for an infinite one."""
    b = Builder("double", 1, fma)
    r, t, quadrant = call_reduce_huge(b, "%x")
    s, c = _quarter_sin(b, r, t), _quarter_cos(b, r, t)
    odd = b.int_compare("ne", b.int("and", quadrant, 1), 0)
    half = b.int("shl", b.int("and", quadrant, 2), 62)  # quadrants 2 and 3 change the sign of both
    if name == "tan":
        y = b.div(b.select(odd, c, s), b.select(odd, s, c))
        y = b.flip(b.flip(y, b.int("shl", quadrant, 63)), b.sign_of("%x"))
    elif name == "sin":
        y = b.flip(b.flip(b.select(odd, c, s), half), b.sign_of("%x"))
    else:
        y = b.flip(b.flip(b.select(odd, s, c), half), b.int("shl", quadrant, 63))
    y = b.select(b.compare("oeq", b.abs("%x"), math.inf), math.nan, y)
    return define(b, f"@tj_{name}_huge_f64" + ("" if fma else "_nofma"), ("%x",), y, COLD)
